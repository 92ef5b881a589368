"""Opening the store: whichever command comes first makes the home and brings the database up to date."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.core.management import call_command
from django.db import DatabaseError, connection, connections, transaction

from memory import home
from memory.errors import OriginError
from memory.failures import explain
from memory.records import journal, recovery
from memory.setting import keep, kept

_MIGRATIONS = Path(__file__).parent / "migrations"

APPLIED = "SELECT name FROM django_migrations WHERE app = 'memory'"
HAS_TABLES = "SELECT count(*) FROM sqlite_master"


def open_store() -> None:
    """Make the home where it is missing, and migrate the database where it is older than this code.

    Raises `OriginError` where the home cannot be used, the database is damaged or a newer Origin wrote it.
    """
    home.create()
    home.attach()
    if not _is_write_ahead() or _pending():
        with home.lock("migrate"):
            if _pending():
                migrate()
    if journal.is_behind():
        with home.lock("migrate"):
            recovery.recover()


def let_go() -> None:
    """Close this process's connections before it forks.

    SQLite's locks do not cross a fork: a process that inherits an open database loses what others write, unnoticed.
    """
    connections.close_all()


def stay_open() -> None:
    """Keep each thread's connection between requests: opening one takes longer than most answers."""
    connections.settings["default"]["CONN_MAX_AGE"] = None


@contextmanager
def using_database(path: Path) -> Iterator[None]:
    """Let this process's connection use another database for a while."""
    connection.close()
    before = connection.settings_dict["NAME"]
    connection.settings_dict["NAME"] = path
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict["NAME"] = before


def _is_write_ahead() -> bool:
    """True for a database that is in WAL mode: bytes 18 and 19 of its header (sqlite.org/fileformat2.html, 1.3.3).

    Whoever opens it first switches it, for which SQLite waits for nobody: two at once, and one fails as busy.
    """
    try:
        with home.database_path().open("rb") as file:
            return file.read(20)[18:] == b"\x02\x02"
    except FileNotFoundError:
        return False


def _pending() -> bool:
    """True where a migration is missing; asking reads one small table and one directory."""
    known = {path.stem for path in _MIGRATIONS.glob("[0-9]*.py")}
    applied = _applied()
    if newer := applied - known:
        raise OriginError(
            f"The store in {home.home()} was written by a newer Origin ({max(newer)}); update Origin to use it."
        )
    return applied != known


def _applied() -> set[str]:
    try:
        with connection.cursor() as cursor:
            cursor.execute(HAS_TABLES)
            if cursor.fetchone()[0] == 0:
                return set()
            cursor.execute(APPLIED)
            return {name for (name,) in cursor.fetchall()}
    except DatabaseError as error:
        raise OriginError(_unusable(error)) from error


def _unusable(error: DatabaseError) -> str:
    return explain(error) or f"The database in {home.home()} could not be opened: {error}."


def migrate() -> None:
    """Migrate in one transaction, so that a kill leaves the store as it was; the caller holds the lock `migrate`.

    Django commits each migration by itself, and may record one only after its commit: killed between the two, it could
    never be applied again.
    """
    home.private(Path(connection.settings_dict["NAME"]))
    try:
        # A schema editor wants foreign keys off, which SQLite refuses inside a transaction.
        connection.disable_constraint_checking()
        with transaction.atomic():
            call_command("migrate", verbosity=0, interactive=False, skip_checks=True)
            keep("store_uuid", kept("store_uuid", str(uuid.uuid4())))
    except DatabaseError as error:
        raise OriginError(_unusable(error)) from error
    finally:
        connection.enable_constraint_checking()
