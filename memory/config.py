"""What the owner set in `config.toml` in the home: what is not to be archived, and whom to trust."""

import tomllib
from pathlib import Path
from typing import Literal

import msgspec

from memory import home
from memory.errors import OriginError

NAME = "config.toml"


class Exclude(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is not to be archived: whole sources, projects by name, and source files by patterns of their paths."""

    sources: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()


class Archive(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table `[archive]`."""

    exclude: Exclude = Exclude()


class Trust(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table `[trust]`: which of agents' writes are accepted without a review (spec 3, trust).

    `open` all, `tool-output` those that cite what the person or the agent said, `person` those that cite the person,
    `all` none.
    """

    policy: Literal["open", "tool-output", "person", "all"] = "tool-output"


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file. Unknown names are refused: a misspelt `exclude` would archive what it was meant to keep out."""

    archive: Archive = Archive()
    trust: Trust = Trust()


def path() -> Path:
    """Return where the file lies, if there is one."""
    return home.home() / NAME


def load() -> Config:
    """Read the file; all is as usual where there is none. Raises `OriginError` where it cannot be understood."""
    try:
        return msgspec.convert(tomllib.loads(path().read_text("utf-8-sig")), Config)
    except FileNotFoundError:
        if not path().is_symlink():
            return Config()
        raise OriginError(f"{path()} is a link that leads nowhere; put the file back, or remove the link.") from None
    except OSError as error:
        raise OriginError(f"{path()} could not be read: {error.strerror}.") from error
    except (ValueError, msgspec.ValidationError) as error:
        raise OriginError(f"{path()} cannot be understood: {error}.") from error
