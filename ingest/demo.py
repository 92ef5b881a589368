"""An invented history in Claude Code's own log format, so that a newcomer has something to search."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple
from uuid import UUID, uuid5

JsonObject = dict[str, object]

_IDS = UUID("de300000-0000-4000-8000-000000000000")
_VERSION, _MODEL = "2.1.140", "claude-demo"


class Said(NamedTuple):
    """What the person or the agent said."""

    role: str
    text: str


class Did(NamedTuple):
    """A tool call of the agent's and what came of it."""

    tool: str
    input: JsonObject
    result: str
    failed: bool = False


@dataclass(frozen=True)
class Session:
    """One invented session, so many days and hours before now."""

    project: str
    days_ago: int
    hours_ago: int
    title: str
    turns: tuple[Said | Did, ...]

    @property
    def id(self) -> str:
        """The session's native id."""
        return str(uuid5(_IDS, self.title))

    def record_id(self, turn: int) -> str:
        """Return the uuid of the record of one turn."""
        return str(uuid5(_IDS, f"{self.title}/{turn}"))

    @property
    def directory(self) -> str:
        """Where the agent worked."""
        return f"/home/you/{self.project}"


DECISION = Session(
    "shop",
    13,
    2,
    "Choose a queue for order mails",
    (
        Said("user", "Order mails block the checkout for two seconds. Which queue should we use, Redis or Postgres?"),
        Said(
            "assistant",
            "Redis with a worker is the usual choice. Postgres can do it too: a jobs table read with SELECT … FOR "
            "UPDATE SKIP LOCKED. How many mails are there?",
        ),
        Said(
            "user",
            "About 200 an hour. Decision: we use Postgres with SKIP LOCKED, not Redis, because it is one service less "
            "to run and back up, and 200 mails an hour is nothing for it.",
        ),
        Did(
            "Write",
            {"file_path": "/home/you/shop/orders/jobs.py", "content": "CLAIM = 'SELECT … FOR UPDATE SKIP LOCKED'\n"},
            "File created successfully at: /home/you/shop/orders/jobs.py",
        ),
        Did("Bash", {"command": "pytest tests/test_jobs.py -q"}, "4 passed in 0.41s"),
        Said("assistant", "Mails are now rows in a jobs table, claimed with SKIP LOCKED. The checkout takes 90 ms."),
    ),
)
MISTAKE = Session(
    "shop",
    10,
    5,
    "Refund totals are off by a cent",
    (
        Said("user", "Refund totals are off by one cent on some orders. Why?"),
        Did("Grep", {"pattern": "round\\(", "path": "orders"}, "orders/refund.py:31: return round(line.tax, 2)"),
        Said("assistant", "Tax is rounded on the total. I will round it on every line instead; then the sums agree."),
        Did(
            "Edit",
            {
                "file_path": "/home/you/shop/orders/refund.py",
                "old_string": "round(total_tax, 2)",
                "new_string": "sum(round(line.tax, 2) for line in lines)",
            },
            "The file /home/you/shop/orders/refund.py has been updated.",
        ),
        Said("user", "Good, ship it."),
    ),
)
BUILD = Session(
    "blog",
    8,
    3,
    "Fix the broken build",
    (
        Said("user", "The site has not built since yesterday. Find out why."),
        Did("Bash", {"command": "make html"}, "Error: template post.html: unknown filter 'markdownify'", failed=True),
        Did("Bash", {"command": "git log --oneline -3"}, "9f31c2a Update the site generator to 4.0\n1c0ffee New post"),
        Said(
            "assistant",
            "Version 4.0 of the site generator renamed the filter markdownify to render. I changed post.html, and the "
            "site builds again.",
        ),
        Said("user", "Pin the generator to 4.0 so that this does not happen again."),
    ),
)
CHINESE = Session(
    "ledger",
    5,
    6,
    "记账程序的数据库",
    (
        Said("user", "记账程序用什么数据库?MySQL 还是 SQLite?"),
        Said("assistant", "只有您一个人使用,数据量也小。SQLite 不需要服务器,备份只要复制一个文件。"),
        Said("user", "那就决定用 SQLite,不用 MySQL,因为只有一个人用,备份也简单。"),
    ),
)
CORRECTION = Session(
    "shop",
    3,
    4,
    "Round tax once, on the total",
    (
        Said(
            "user",
            "The rounding from last week was wrong. Our accountant says tax on a refund is rounded once, on the total, "
            "never per line. Please put it back and write down why.",
        ),
        Did(
            "Edit",
            {
                "file_path": "/home/you/shop/orders/refund.py",
                "old_string": "sum(round(line.tax, 2) for line in lines)",
                "new_string": "round(total_tax, 2)  # once, on the total: the accountant's rule",
            },
            "The file /home/you/shop/orders/refund.py has been updated.",
        ),
        Did("Bash", {"command": "pytest -q"}, "61 passed in 3.20s"),
        Said(
            "assistant",
            "Corrected: refund tax is rounded once, on the total. The one cent came from discounts that were applied "
            "after rounding; they are applied before it now.",
        ),
    ),
)
DEPLOYMENT = Session(
    "shop",
    1,
    2,
    "Deploy without downtime",
    (
        Said("user", "How do we deploy the shop without downtime? Remember the jobs table."),
        Said(
            "assistant",
            "Run the migration first, it only adds columns; then start the new workers, and stop the old ones once "
            "they have finished the jobs they hold. SKIP LOCKED lets both run side by side.",
        ),
        Said("user", "Do it that way from now on: migrate, start new workers, stop old ones."),
    ),
)
SESSIONS = (DECISION, MISTAKE, BUILD, CHINESE, CORRECTION, DEPLOYMENT)


def write_logs(person: Path, now: datetime) -> None:
    """Write every session as a log below a person's home directory; `now` is UTC."""
    for session in SESSIONS:
        folder = person / ".claude" / "projects" / session.directory.replace("/", "-")
        folder.mkdir(parents=True, exist_ok=True)
        lines = [json.dumps(record, ensure_ascii=False) + "\n" for record in _records(session, now)]
        (folder / f"{session.id}.jsonl").write_text("".join(lines), "utf-8")


def _records(session: Session, now: datetime) -> Iterator[JsonObject]:
    at = now - timedelta(days=session.days_ago, hours=session.hours_ago)
    parent: str | None = None
    for number, turn in enumerate(session.turns):
        for record_id, body in _bodies(session, number, turn):
            at += timedelta(seconds=20)
            yield _envelope(session, at, parent) | body | {"uuid": record_id}
            parent = record_id
    yield {"type": "ai-title", "aiTitle": session.title, "sessionId": session.id}


def _bodies(session: Session, number: int, turn: Said | Did) -> Iterator[tuple[str, JsonObject]]:
    """Yield the records of one turn, each with its uuid; a tool call has two."""
    record_id = session.record_id(number)
    if isinstance(turn, Said):
        yield record_id, _user(turn.text) if turn.role == "user" else _assistant({"type": "text", "text": turn.text})
        return
    call = f"toolu_{record_id[:8]}"
    yield record_id, _assistant({"type": "tool_use", "id": call, "name": turn.tool, "input": turn.input})
    result = {"tool_use_id": call, "type": "tool_result", "content": turn.result, "is_error": turn.failed}
    yield str(uuid5(_IDS, f"{record_id}/result")), _user([result])


def _user(content: object) -> JsonObject:
    return {"type": "user", "message": {"role": "user", "content": content}}


def _assistant(block: JsonObject) -> JsonObject:
    message = {"type": "message", "role": "assistant", "model": _MODEL, "content": [block]}
    return {"type": "assistant", "message": message}


def _envelope(session: Session, at: datetime, parent: str | None) -> JsonObject:
    return {
        "parentUuid": parent,
        "isSidechain": False,
        "userType": "external",
        "cwd": session.directory,
        "sessionId": session.id,
        "version": _VERSION,
        "gitBranch": "main",
        "timestamp": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
    }
