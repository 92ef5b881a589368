"""A query as it was typed, taken apart: words, phrases, filters, and the forms in which the indexes may hold each."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from memory.json_line import clean_text
from memory.stop_words import ENGLISH, content_pieces, has_cjk_stop_word
from memory.text import cjk_query, cjk_runs

MAX_TERMS = 40
MAX_TERM = 200
TRIGRAM = 3
# Adjacent words that may be one identifier: `fetch user by id` is `fetchUserById`.
LONGEST_NAME = 5
MAX_JOINS = 40
FILTERS = ("project", "source", "session", "file", "tool", "since", "until")

_TOKEN = re.compile(rf'(-?)({"|".join(FILTERS)}):(?:"([^"]+)"|([^\s"]+))|(-?)"([^"]*)"|(\S+)', re.IGNORECASE)
_WITHOUT = re.compile(r"-([^\W_].*)", re.DOTALL)
_WORD = re.compile(r"[^\W_]")
_WORDS = re.compile(r"[^\W_]+")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_INSIDE = re.compile(r"[A-Za-z0-9](?:[_./\\:#-]+|(?<=[a-z0-9])(?=[A-Z]))[A-Za-z0-9]")
_EDGES = " \t\n.,;:!?\"'`()[]{}<>…。、，；：！？（）「」『』“”‘’"
_ID = re.compile(r"(?:ent_[0-9a-f]{16}|[a-z][a-z0-9-]{0,40}:[A-Za-z0-9%._:/+-]{4,400}(?:#[0-9a-z#]+)?)")


def quoted(text: str) -> str:
    """Return text as an FTS5 string, in which nothing is syntax (sqlite.org/fts5.html, 3.1)."""
    return '"' + text.replace('"', '""') + '"'


def any_of(expressions: list[str]) -> str:
    """Return an FTS5 expression that holds where one of several does."""
    distinct = list(dict.fromkeys(expressions))
    return distinct[0] if len(distinct) == 1 else f"({' OR '.join(distinct)})" if distinct else ""


def sparse(groups: Iterable[Iterable[str]]) -> str:
    """Return an expression for a trigram index that holds wherever one substring of each group stands, and elsewhere.

    Every third trigram and the last: a third of the places to look at, and no order among them.
    """
    return " AND ".join(any_of([f"({' AND '.join(_third_trigrams(form))})" for form in group]) for group in groups)


def _third_trigrams(form: str) -> list[str]:
    places = [*range(0, len(form) - TRIGRAM, TRIGRAM), len(form) - TRIGRAM]
    return [quoted(form[at : at + TRIGRAM]) for at in places]


def _by_words(forms: Iterable[str]) -> list[str]:
    """Return the forms that differ to an index of words, which sees no marks and no case."""
    told = {" ".join(words): form for form in forms if (words := _WORDS.findall(form.lower().replace("_", " ")))}
    return list(told.values())


def _inside(forms: tuple[str, ...]) -> tuple[str, ...]:
    """Return the forms for a trigram index: as typed and run together, if long enough; words tell the others."""
    return tuple(form for form in forms if len(form) >= TRIGRAM and (form == forms[0] or form.isalnum()))


@dataclass(frozen=True)
class Term:
    """One word or phrase of a query, as it was typed."""

    text: str
    phrase: bool = False

    @cached_property
    def cjk(self) -> tuple[str, ...]:
        """The runs of CJK in it."""
        return tuple(cjk_runs(self.text))

    @cached_property
    def forms(self) -> tuple[str, ...]:
        """The ways in which an identifier may be spelled, its own first; anything else has one."""
        parts = [part.lower() for part in _PARTS.findall(self.text)]
        if self.phrase or self.cjk or len(parts) < 2 or not _INSIDE.search(self.text):
            return (self.text,)
        return tuple(dict.fromkeys((self.text, *(mark.join(parts) for mark in ("", "_", "-", " ")))))

    @property
    def is_word(self) -> bool:
        """True where a word index finds anything to look for in the term."""
        return _WORD.search(self.text) is not None

    @property
    def is_stop_word(self) -> bool:
        """True for a word that only makes a sentence."""
        return not self.phrase and self.text.strip(_EDGES).replace("’", "'").lower() in ENGLISH

    @property
    def inside(self) -> tuple[str, ...]:
        """The forms for a trigram index."""
        return _inside(self.forms)

    def in_trigrams(self) -> str:
        """Return the expression for a trigram index, empty where every form is too short."""
        return any_of([quoted(form) for form in self.inside])

    def in_words(self) -> str:
        """Return the expression for an index of words."""
        return any_of([quoted(form) for form in _by_words(self.forms)])


@dataclass(frozen=True)
class Unit:
    """What a relaxed search counts by: a word, an identifier or a pair of CJK characters, and the term it is from."""

    term: str
    forms: tuple[str, ...]
    cjk: bool = False

    @property
    def named(self) -> bool:
        """True for an identifier or path, which is looked for inside words too."""
        return len(self.forms) > 1

    def in_words(self) -> str:
        """Return the expression for an index of words; CJK there is the beginning of a word."""
        if self.cjk:
            return f"{quoted(self.forms[0])} *"
        return any_of([quoted(form) for form in _by_words(self.forms)])

    def in_trigrams(self) -> str:
        """Return the expression for a trigram index, empty where every form is too short."""
        return any_of([quoted(form) for form in self.inside])

    def in_grams(self) -> str:
        """Return the expression for an index of CJK bigrams."""
        return cjk_query(self.forms[0])

    @property
    def inside(self) -> tuple[str, ...]:
        """The forms for a trigram index."""
        return _inside(self.forms)


@dataclass(frozen=True)
class Query:
    """A query taken apart; `named` holds the filters that were typed into it."""

    text: str
    terms: tuple[Term, ...] = ()
    without: tuple[Term, ...] = ()
    named: dict[str, str] = field(default_factory=dict)

    @property
    def has_mark(self) -> bool:
        """True with a question mark."""
        return any(mark in self.text for mark in "?？")

    @cached_property
    def is_question(self) -> bool:
        """True where the query reads as a sentence: a question mark or words that only make sentences."""
        if self.has_mark:
            return True
        runs = [run for term in self.terms if not term.phrase for run in term.cjk]
        stop_words = [term.is_stop_word for term in self.terms]
        return (any(stop_words) and not all(stop_words)) or any(map(has_cjk_stop_word, runs))

    @cached_property
    def content(self) -> tuple[Term, ...]:
        """The terms that are not stop words, stripped of a sentence's marks; all of them where nothing else is left."""
        if not self.is_question:
            return self.terms
        stripped = [term if term.phrase else Term(_stripped(term.text)) for term in self.terms if not term.is_stop_word]
        return tuple(term for term in stripped if term.text) or self.terms

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """What a relaxed search counts by."""
        found = [unit for term in self.content for unit in _units(term)]
        return tuple(dict.fromkeys(found))[: 2 * MAX_TERMS]

    @cached_property
    def joins(self) -> tuple[str, ...]:
        """Adjacent plain words run together, longest first, as an identifier would have them."""
        words = [term.text for term in self.terms if term.text.isascii() and term.text.isalnum() and not term.phrase]
        if len(words) < 2 or len(words) != len(self.terms):
            words = [word.lower() for word in _ascii_words(self.terms)]
        spans = range(min(LONGEST_NAME, len(words)), 1, -1)
        found = ["".join(words[at : at + size]).lower() for size in spans for at in range(len(words) - size + 1)]
        return tuple(dict.fromkeys(join for join in found if len(join) >= 2 * TRIGRAM))[:MAX_JOINS]

    @property
    def as_id(self) -> str:
        """The query where it may be an id, else nothing."""
        text = self.text.strip()
        return text if _ID.fullmatch(text) else ""


def _stripped(text: str) -> str:
    text = text.strip(_EDGES)
    return re.sub(r"['’]s$", "", text)


def _ascii_words(terms: tuple[Term, ...]) -> list[str]:
    return [word for term in terms for word in [_stripped(term.text)] if word.isascii() and word.isalnum()]


def _units(term: Term) -> list[Unit]:
    if term.phrase and not term.cjk:
        return [Unit(term.text, (term.text,))] if term.is_word else []
    if term.cjk:
        return _mixed_units(term)
    text = _stripped(term.text)
    forms = Term(text).forms
    return [Unit(term.text, forms), *_tails(term, text)] if _WORD.search(text) else []


def _tails(term: Term, path: str) -> list[Unit]:
    """The file's name, for a path that a log may hold with other folders before it."""
    name = path.rstrip("/").rpartition("/")[2]
    return [Unit(term.text, Term(name).forms)] if name != path and _WORD.search(name) else []


def _mixed_units(term: Term) -> list[Unit]:
    """The pairs of its CJK without stop words, and the words between."""
    pieces = [piece for run in term.cjk for piece in ([run] if term.phrase else content_pieces(run))]
    pairs = [piece[at : at + 2] for piece in pieces for at in range(max(len(piece) - 1, 1))]
    rest = [word for word in _words_between(term) if word.lower() not in ENGLISH]
    return [
        *(Unit(term.text, (pair,), cjk=True) for pair in pairs),
        *(Unit(term.text, Term(word).forms) for word in rest),
    ]


def _words_between(term: Term) -> list[str]:
    text = term.text
    for run in term.cjk:
        text = text.replace(run, " ")
    return [stripped for word in text.split() if _WORD.search(stripped := _stripped(word)) and not cjk_runs(word)]


def parse(query: str) -> Query:
    """Take a query apart. No character of it is an error: what is not understood is a word."""
    clean = clean_text(query).replace("\x00", " ")
    terms: list[Term] = []
    without: list[Term] = []
    named: dict[str, str] = {}
    for minus, name, phrase_value, value, not_phrase, phrase, word in _TOKEN.findall(clean):
        given = phrase_value or value
        if name and not minus and not given.startswith("//"):
            named[name.lower()] = given.strip()
        elif name:
            terms.append(Term(f"{name}:{given}"[:MAX_TERM]))
        elif phrase.strip():
            (without if not_phrase else terms).append(Term(phrase.strip()[:MAX_TERM], phrase=True))
        elif word and (left_out := _WITHOUT.fullmatch(word)):
            without.append(Term(left_out[1][:MAX_TERM]))
        elif word:
            terms.append(Term(word[:MAX_TERM]))
    if not terms:  # Leaving something out of nothing is no search: the words are meant.
        terms, without = without, []
    return Query(clean, tuple(terms[:MAX_TERMS]), tuple(without[:MAX_TERMS]), named)
