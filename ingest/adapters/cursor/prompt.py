"""Tells what the person typed into Cursor from the context that Cursor writes around it."""

import re
from datetime import datetime, timedelta, timezone
from typing import NamedTuple

from ingest.adapters.times import utc_time

_QUERY, _QUERY_END = "<user_query>", "</user_query>"
_OPENING = re.compile(r"\s*<([a-z][a-z0-9_-]*)(?:\s[^<>]*)?>")
# Elements that Cursor writes. A text that begins with any other tag, and holds no <user_query>, is the person's.
_CONTEXT = frozenset(
    {
        *("additional_data", "agent_requestable_workspace_rules", "agent_skills", "agent_transcripts"),
        *("always_applied_workspace_rules", "attached_files", "available_skills", "cursor_commands"),
        *("external_links", "git_status", "image_files", "manually_attached_skills", "mcp_file_system"),
        *("open_and_recently_viewed_files", "project_layout", "rules", "system-reminder", "system_reminder"),
        *("terminal_files_information", "timestamp", "user_info", "user_rules"),
    }
)
# What is said of one prompt. All else is said again in every session.
_TOLD = frozenset({"attached_files", "git_status", "image_files", "open_and_recently_viewed_files"})
# Messages that were queued while the agent was busy are sent as one text.
_NEXT_QUERY = re.compile(r"</user_query>\s*(?:<timestamp>[^<]*</timestamp>\s*)?<user_query>")
_WORKSPACE = re.compile(r"^[ \t]*Workspace Path:[ \t]*(\S.*?)[ \t\r]*$", re.MULTILINE)
_LONGEST_PATH = 4_096

_LONGEST_TIME = 100
_OFFSET = re.compile(r"\(?\b(?:UTC|GMT)(?:\s?([+\u2212\u2013-])\s?(\d{1,2}):?(\d\d)?)?\)?", re.ASCII)
_CLOCK = re.compile(r"(?<!\d)(\d{1,2})[:.](\d\d)(?:[:.](\d\d))?(?:\s*([ap])\.?\s?m\b\.?)?", re.IGNORECASE)
# Halves of the day in words: better no time than one twelve hours off.
_OTHER_HALVES = ("上午", "下午", "午前", "午後", "오전", "오후")
_NUMERIC_DATE = re.compile(r"(?<!\d)(\d{4})\D{1,3}(\d{1,2})\D{1,3}(\d{1,2})(?!\d)")
_YEAR, _DAY, _WORD = re.compile(r"(?<!\d)\d{4}(?!\d)"), re.compile(r"(?<!\d)\d{1,2}(?!\d)"), re.compile(r"[^\W\d_]+")
# By the first letters of the months in English and the languages near it; what none of them knows is no time.
_MONTHS = {
    **dict.fromkeys(("jan", "ene", "gen"), 1),
    **dict.fromkeys(("feb", "fév", "fev"), 2),
    **dict.fromkeys(("mar", "mär"), 3),
    **dict.fromkeys(("apr", "avr", "abr"), 4),
    **dict.fromkeys(("may", "mai", "mag"), 5),
    **dict.fromkeys(("jun", "juin", "giu"), 6),
    **dict.fromkeys(("jul", "juil", "lug"), 7),
    **dict.fromkeys(("aug", "aoû", "ago"), 8),
    **dict.fromkeys(("sep", "set"), 9),
    **dict.fromkeys(("oct", "okt", "out", "ott"), 10),
    **dict.fromkeys(("nov",), 11),
    **dict.fromkeys(("dec", "dez", "déc", "dic"), 12),
}


class Prompt(NamedTuple):
    """A text in the person's turn: their words, what Cursor says of just this prompt, its time and its workspace.

    `context` is the whole text where no words of theirs are in it.
    """

    words: str
    told: str = ""
    at: str = ""
    workspace: str = ""
    context: str = ""


class _Element(NamedTuple):
    tag: str
    start: int
    end: int


def read_prompt(text: str) -> Prompt:
    """Return what a text in the person's turn says; empty words where all of it is Cursor's."""
    if not text[:400].lstrip().startswith("<"):
        return Prompt(text)
    elements = _elements(text, 0)
    end = elements[-1].end if elements else 0
    query = _query(text, elements, end)
    if query >= 0:
        return _asked(text, elements, query, adjacent=not text[end:query].strip())
    known = _known(elements)
    words = text[known[-1].end :].strip() if known else text
    return Prompt(words, _told(text, known), "", _workspace(text, known), "" if words else text.strip())


def spoken_time(text: str) -> str:
    """Return `Tuesday, Oct 6, 2026, 7:20 PM (UTC-7)` and its like as UTC; empty where its offset is not said."""
    if len(text) > _LONGEST_TIME or any(half in text for half in _OTHER_HALVES):
        return ""
    offset, clock = _OFFSET.search(text), _CLOCK.search(text)
    if offset is None or clock is None:
        return ""
    date = _date(text[: clock.start()]) or _date(text[clock.end() : offset.start()])
    try:
        moment = datetime(*date, *_hours(clock), tzinfo=_zone(offset)) if date else None
    except ValueError:
        return ""
    return utc_time(moment.isoformat()) if moment else ""


def _elements(text: str, position: int) -> list[_Element]:
    """Return the elements that follow one another from a position on, up to the person's query."""
    found: list[_Element] = []
    while (opening := _OPENING.match(text, position)) and opening[1] != "user_query":
        closing = f"</{opening[1]}>"
        end = text.find(closing, opening.end())
        if end < 0:
            break
        position = end + len(closing)
        found.append(_Element(opening[1], opening.start(), position))
    return found


def _query(text: str, elements: list[_Element], end: int) -> int:
    """Return where the person's query opens: after the elements, or further on where something else lies between."""
    opening = _OPENING.match(text, end)
    if opening and opening[1] == "user_query":
        return text.index("<", end)
    if not _known(elements):
        return -1
    found = text.find(f"\n{_QUERY}\n", end)
    return found + 1 if found >= 0 else -1


def _known(elements: list[_Element]) -> list[_Element]:
    """Return the elements the text begins with that Cursor writes."""
    for index, element in enumerate(elements):
        if element.tag not in _CONTEXT:
            return elements[:index]
    return elements


def _asked(text: str, elements: list[_Element], query: int, adjacent: bool) -> Prompt:
    start = text.index(">", query) + 1
    end = text.rfind(_QUERY_END, start)
    words = text[start:] if end < 0 else text[start:end]
    after = [] if end < 0 else _elements(text, end + len(_QUERY_END))
    return Prompt(
        "\n\n".join(filter(None, map(str.strip, _NEXT_QUERY.split(words)))),
        _told(text, [*elements, *after]),
        # A tag that the person's text quotes is no time: only the one directly before their query is.
        spoken_time(_content(text, elements[-1])) if adjacent and _is_time(elements) else "",
        _workspace(text, elements),
    )


def _is_time(elements: list[_Element]) -> bool:
    return bool(elements) and elements[-1].tag == "timestamp"


def _told(text: str, elements: list[_Element]) -> str:
    return "\n".join(text[each.start : each.end].strip() for each in elements if each.tag in _TOLD)


def _workspace(text: str, elements: list[_Element]) -> str:
    for element in elements:
        found = _WORKSPACE.search(text, element.start, element.end) if element.tag == "user_info" else None
        if found and len(found[1]) <= _LONGEST_PATH:
            return found[1]
    return ""


def _content(text: str, element: _Element) -> str:
    whole = text[element.start : element.end]
    return whole[whole.index(">") + 1 : whole.rindex("<")].strip()


# Times


def _date(text: str) -> tuple[int, int, int] | None:
    if numeric := _NUMERIC_DATE.search(text):
        return int(numeric[1]), int(numeric[2]), int(numeric[3])
    year, day, month = _YEAR.search(text), _DAY.search(text), _month(text)
    return (int(year[0]), month, int(day[0])) if year and day and month else None


def _month(text: str) -> int:
    """Return the month that the last word of a date names: a weekday comes before it."""
    names = [word.casefold() for word in _WORD.findall(text)]
    months = [_MONTHS.get(name[:4], 0) or _MONTHS.get(name[:3], 0) for name in names]
    return next(filter(None, reversed(months)), 0)


def _hours(clock: re.Match[str]) -> tuple[int, int, int]:
    hour = int(clock[1])
    if clock[4]:
        if not 1 <= hour <= 12:
            raise ValueError("no hour of a twelve-hour clock")
        hour = hour % 12 + (12 if clock[4] in "pP" else 0)
    return hour, int(clock[2]), int(clock[3] or 0)


def _zone(offset: re.Match[str]) -> timezone:
    minutes = int(offset[2] or 0) * 60 + int(offset[3] or 0)
    return timezone(timedelta(minutes=minutes if offset[1] in (None, "+") else -minutes))
