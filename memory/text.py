"""The one meaning of a text: what counts as the same, how CJK is indexed, how long an answer is."""

import re
import unicodedata
from hashlib import sha256

# Stored beside every digest: changing any rule below means a new number (definitions: normalise).
NORMALISE_VERSION = 1

_SURROGATE = re.compile("[\ud800-\udfff]")
# General category Cf as of Unicode 15.1, written out so that every Python drops the same characters.
_FORMAT = re.compile(
    "[\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064"
    "\u2066-\u206f\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0001\U000e0020-\U000e007f]+"
)
_GAP = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")

# Sentence punctuation and its CJK forms; NFKC has already folded the full-width ones and the ellipsis into ASCII.
_MARKS = " \"'.,;:!?"
_EDGES = _MARKS + "\u2026\u3002\u3001"
_ASCII_EDGES = _MARKS + "()[]{}"
_BRACKETS_AND_QUOTES = frozenset({"Ps", "Pe", "Pi", "Pf"})
_ASCII_FOLD = {code: " " if code < 0x20 or code == 0x7F else chr(code).lower() for code in range(0x80)}

# Han with its extensions and iteration marks, Hiragana, Katakana, Hangul; half-width forms are gone after NFKC.
_CJK_RUN = re.compile(
    "[\u1100-\u11ff\u3005-\u3007\u3021-\u3029\u3038-\u303b\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb\uf900-\ufaff"
    "\U0001b000-\U0001b16f\U00020000-\U0003fffd]+"
)


def normalise(text: str) -> str:
    """Return `text` as it is compared and digested, by version 1 of the rule in definitions.md.

    Surrogates become U+FFFD; then NFKC, casefold, format characters dropped, each run of white space and control
    characters one space; white space, quotes, brackets and sentence punctuation are stripped from both edges only.
    """
    if text.isascii():
        return " ".join(text.translate(_ASCII_FOLD).split()).strip(_ASCII_EDGES)
    return _normalise_any(text)


def _normalise_any(text: str) -> str:
    folded = unicodedata.normalize("NFKC", _SURROGATE.sub("\ufffd", text)).casefold()
    line = " ".join(folded.split())
    # Printable means neither format nor control characters: seldom false, and ten times faster to ask than to look.
    if not line.isprintable():
        line = _GAP.sub(" ", _FORMAT.sub("", line))
    return _strip_edges(line)


def _strip_edges(text: str) -> str:
    start, end = 0, len(text)
    while start < end and _is_edge(text[start]):
        start += 1
    while end > start and _is_edge(text[end - 1]):
        end -= 1
    return text[start:end]


def _is_edge(character: str) -> bool:
    return character in _EDGES or unicodedata.category(character) in _BRACKETS_AND_QUOTES


def text_digest(text: str) -> bytes:
    """Return the first 16 bytes of SHA-256(normalise(text)): equal for texts that say the same (definitions)."""
    return sha256(normalise(text).encode()).digest()[:16]


def cjk_runs(text: str) -> list[str]:
    """Return the unbroken runs of Han, kana and Hangul in `text` after NFKC, in order."""
    if text.isascii():
        return []
    return _CJK_RUN.findall(unicodedata.normalize("NFKC", text))


def cjk_bigrams(text: str) -> str:
    """Return what the CJK side index holds of `text`: each run's overlapping pairs and its last character alone.

    `"\u6570\u636e\u5e93"` gives `"\u6570\u636e \u636e\u5e93 \u5e93"`; a text without CJK gives `""` (lab-search 2: a
    bigram table answers the one- and two-character terms that a trigram index cannot).
    """
    if text.isascii():
        return ""
    return " ".join(run[i : i + 2] for run in cjk_runs(text) for i in range(len(run)))


def cjk_query(run: str) -> str:
    """Return the FTS5 expression that finds `run`, one of `cjk_runs()`, in an index of `cjk_bigrams()`.

    One character is a prefix, two are a token, more are a phrase of pairs. Raises `ValueError` for anything else, since
    a quote inside `run` would be read as FTS5 syntax.
    """
    if cjk_runs(run) != [run]:
        raise ValueError("A CJK query is one run of CJK characters.")
    if len(run) == 1:
        return f'"{run}"*'
    return '"' + " ".join(run[i : i + 2] for i in range(len(run) - 1)) + '"'


def token_estimate(text: str) -> int:
    """Return ceil(UTF-8 bytes / 4), the one measure of an answer's length; a lone surrogate counts as U+FFFD does."""
    length = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return (length + 3) // 4


def cut(text: str, limit: int) -> str:
    """Return the first `limit` code points of `text`, with no mark: what is kept must still match a quote of it."""
    return text[: max(limit, 0)]


def one_line(text: str, limit: int) -> str:
    """Return `text` on one line of at most `limit` code points, ending in `…` where it was cut.

    White space and control characters become single spaces, so that a title can neither break a table nor steer a
    terminal.
    """
    line = " ".join(text.split())
    if not line.isprintable():
        line = _GAP.sub(" ", line).strip(" ")
    if len(line) <= limit:
        return line
    return line[: limit - 1].rstrip(" ") + "\u2026" if limit > 0 else ""
