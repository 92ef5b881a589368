"""What a caller may see and do: a required argument of every read and write."""

from dataclasses import dataclass

from memory import aliases
from memory.sql import Value


@dataclass(frozen=True)
class Scope:
    """`projects` empty is all of them; a scope with projects sees nothing that has none."""

    projects: tuple[str, ...] = ()
    may_write: bool = True
    may_forget: bool = True

    def condition(self, column: str) -> tuple[str, tuple[Value, ...]]:
        """Return an SQL condition on a project column, and its values."""
        return aliases.condition(column, self.projects)

    def holds(self, project: str) -> bool:
        """True for a project that is in this scope, by whichever of its names."""
        return not self.projects or any(project in aliases.names_of(each) for each in self.projects)


# The owner on a terminal, and an agent whose server was started without limits.
EVERYTHING = Scope()
