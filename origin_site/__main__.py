"""`python -m origin_site`: the `origin` command where no script of that name is at hand."""

from origin_site.cli import main

main()
