"""How the reading commands print what they share: a session, its events, the end of an answer."""

from typing import cast

from memory.label import LABEL
from memory.management.printing import Paper, counted, moment
from memory.shapes import Json


def print_session(session: Json, paper: Paper) -> None:
    """Print a session as a few lines."""
    until = moment(session["to"])
    if until[:10] == moment(session["from"])[:10]:
        until = until[11:]
    parts = (
        f"{moment(session['from'])} to {until}",
        session.get("project", ""),
        session["source"],
        counted(int(str(session["messages"])), "message"),
        counted(int(str(session["tool_calls"])), "tool call"),
    )
    paper.line("  ".join(str(part) for part in parts if part), "bold")
    paper.line(session.get("title", ""), indent=2)
    for path in cast(list[str], session.get("files", [])):
        paper.line(path, "dim", indent=2)
    for name in cast(list[str], session.get("sub_agents", [])):
        paper.line(f"sub-agent {name}", "dim", indent=2)
    if "parent" in session:
        paper.line(f"sub-agent of {session['parent']}", "dim", indent=2)
    paper.line(session["id"], "cyan", indent=2)


def print_entries(entries: list[Json], paper: Paper) -> None:
    """Print what was remembered, each statement with its state where that is not the usual one."""
    for entry in entries:
        state = ", ".join(str(entry[name]) for name in ("status", "trust", "note") if name in entry)
        parts = (moment(entry.get("recorded", entry.get("at", ""))), entry["kind"], entry.get("project", ""), state)
        paper.line("  ".join(str(part) for part in parts if part), "bold")
        paper.line(entry["text"], indent=2)
        if "valid_from" in entry or "valid_to" in entry:
            paper.line(f"holds {_range(entry)}", "dim", indent=2)
        paper.line(entry["id"], "cyan", indent=2)
        paper.line()


def _range(entry: Json) -> str:
    parts = (("from", "valid_from"), ("until", "valid_to"))
    return " ".join(f"{word} {moment(entry[name])}" for word, name in parts if name in entry)


def print_events(events: list[Json], paper: Paper) -> None:
    """Print a session's events in order."""
    for event in events:
        who = event["origin"] if event["kind"] in ("message", "tool_result") else event["kind"]
        parts = (moment(event["at"]), str(who).replace("_", " "), event.get("tool", ""), event.get("model", ""))
        paper.line("  ".join(str(part) for part in parts if part), "bold")
        paper.line(event.get("text", ""), indent=2)
        paper.line(event["id"], "cyan", indent=2)
        paper.line()


def print_label(paper: Paper) -> None:
    """Say first what all that follows is (promise 6)."""
    paper.line(LABEL, "dim")
    paper.line()


def print_footer(footer: Json, paper: Paper) -> None:
    """Print what a reader should know of an answer."""
    for part in ("note", "capped"):
        if part in footer:
            paper.line(footer[part])
    freshness = cast(dict[str, str], footer.get("freshness", {}))
    for fresh in dict.fromkeys(freshness.values()):
        sources = [source for source, said in freshness.items() if said == fresh]
        paper.line(f"{', '.join(sources)}: {fresh}", "dim")
