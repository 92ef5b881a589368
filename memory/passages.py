"""The part of a text that a hit shows: short, on one line, around the words that matched."""

import re
from collections.abc import Callable, Sequence

from memory.ranking import fold
from memory.text import one_line

PASSAGE = 300
# Only so many sights of the words are weighed against each other.
_SIGHTS = 400


def passage(text: str, terms: Sequence[str], limit: int = PASSAGE) -> str:
    """Return at most `limit` characters of `text` around the place where most of the terms stand together."""
    sights = _sights(text, [term for term in terms if term])
    begin = max(_densest(sights, limit // 2) - limit // 4, 0) if sights else 0
    piece = one_line(text[begin : begin + 2 * limit], limit - 1)
    return f"…{piece}" if begin else piece


def _sights(text: str, terms: Sequence[str]) -> list[tuple[int, int]]:
    """Return where terms stand, as (place, number of the term), in order."""
    lower = text.lower()
    found = _find(lower, terms, str.lower) if len(lower) == len(text) else []
    if not found and not text.isascii():
        folded, places = _folded_with_places(text)
        found = [(places[at], number) for at, number in _find(folded, terms, fold)]
    return sorted(found)[:_SIGHTS]


def _find(text: str, terms: Sequence[str], form: Callable[[str], str]) -> list[tuple[int, int]]:
    found = []
    for number, term in enumerate(terms):
        pattern = re.compile(re.escape(form(term)))
        found += [(match.start(), number) for match, _ in zip(pattern.finditer(text), range(_SIGHTS), strict=False)]
    return found


def _folded_with_places(text: str) -> tuple[str, list[int]]:
    """Return text folded character by character, and where each character of that came from."""
    pieces = [fold(character) for character in text]
    return "".join(pieces), [at for at, piece in enumerate(pieces) for _ in piece]


def _densest(sights: Sequence[tuple[int, int]], width: int) -> int:
    """Return the first place from which most different terms stand within `width`."""
    best, most = sights[0][0], 0
    start = 0
    for end, (at, _) in enumerate(sights):
        while at - sights[start][0] > width:
            start += 1
        terms = len({number for _, number in sights[start : end + 1]})
        if terms > most:
            best, most = sights[start][0], terms
    return best
