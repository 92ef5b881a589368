"""What a caller may see and do: a required argument of every read and write."""

from dataclasses import dataclass

from memory.sql import Value, marks


@dataclass(frozen=True)
class Scope:
    """`projects` empty is all of them; a scope with projects sees nothing that has none."""

    projects: tuple[str, ...] = ()
    may_write: bool = True
    may_forget: bool = True

    def condition(self, column: str) -> tuple[str, tuple[Value, ...]]:
        """Return an SQL condition on a project column, and its values."""
        if not self.projects:
            return "1", ()
        return f"{column} IN ({marks(len(self.projects))})", self.projects


# The owner on a terminal, and an agent whose server was started without limits.
EVERYTHING = Scope()
