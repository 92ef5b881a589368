"""What synthetic logs are filled with: code from this machine's own Python, and words drawn from it by Zipf's law."""

import os
import re
import sysconfig
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import NamedTuple

LARGEST_FILE = 300_000  # larger ones are tables of data, not code
LANGUAGES = {
    "zh": (
        "的一是不了人我在有他这为之大来以个中上们到说国和地也子时道出而要于就下得可你年生自会那后能对着事"
        "其里所去行过家十用发天如然作方成者多日都三小军二无同么经法当起与好看学进种将还分此心前面又定见只"
        "主没公从索引测试缓存"
    ),
    "ja": (
        "あいうえおかきくけこさしすせそたちつてとなにぬねのはひふへほまみむめもやゆよらりるれろわをんアイ"
        "ウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモ日本語実装検索設定変更確認修正"
        "関数型行目次前後"
    ),
    "ko": (
        "가나다라마바사아자차카타파하거너더러머버서어저처커터퍼허고노도로모보소오조초코토포호구누두루무부"
        "수우주추쿠투푸후그는을를이에의와과도로기니디리미비시지치키티피히색인검저장변경확"
    ),
}
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{2,30}")


class SourceFile(NamedTuple):
    path: str
    lines: list[str]


class Zipf:
    """Words drawn so that the n-th comes up about 1/n as often as the first."""

    # Mandelbrot's correction: the very first are not that much commoner than the next.
    OFFSET = 2.7

    def __init__(self, words: Sequence[str]) -> None:
        self.words = words
        self.ratio = (len(words) + self.OFFSET) / self.OFFSET

    def draw(self, rng: Random, count: int) -> list[str]:
        # The sum of the weights up to a rank is a logarithm, so its inverse gives the rank: no search in a table.
        words, ratio, offset, random = self.words, self.ratio, self.OFFSET, rng.random
        return [words[int(offset * ratio ** random() - offset)] for _ in range(count)]


@dataclass(frozen=True)
class Corpus:
    """Source files, the words in them from common to rare, and invented words in other scripts by language."""

    files: list[SourceFile]
    words: Zipf
    foreign: dict[str, Zipf]

    def prose(self, rng: Random, size: int, language: str = "en") -> str:
        """About `size` bytes of sentences; those of another language hold some English words, as people write them."""
        if language == "en":
            return _paragraphs(rng, self.words.draw(rng, size // 9 + 1), " ", ". ")
        foreign = self.foreign[language].draw(rng, size // 8 + 1)
        english = iter(self.words.draw(rng, len(foreign)))
        mixed = [f" {next(english)} " if rng.random() < 0.1 else word for word in foreign]
        return _paragraphs(rng, mixed, " " if language == "ko" else "", ". " if language == "ko" else "。")


def read_corpus(rng: Random, limit: int) -> Corpus:
    """Read about `limit` bytes of Python source, in an order that `rng` chooses."""
    files = list(_source_files(rng, limit))
    counts = Counter(word for file in files for line in file.lines for word in _WORD.findall(line))
    words = [word for word, _ in counts.most_common()]
    return Corpus(files, Zipf(words), {name: _invented_words(rng, name) for name in LANGUAGES})


def _source_files(rng: Random, limit: int) -> Iterator[SourceFile]:
    paths = list(_python_paths())
    rng.shuffle(paths)
    for root, path in paths:
        text = _readable_text(os.path.join(root, path))
        if text.count("\n") >= 20:
            yield SourceFile(path.replace(os.sep, "/"), text.splitlines())
            limit -= len(text)
        if limit <= 0:
            return


def _python_paths() -> Iterator[tuple[str, str]]:
    """Every module of the standard library and of what is installed: the root folder and the path below it."""
    folders = sysconfig.get_paths()
    for root in (folders["stdlib"], folders["purelib"]):
        for folder, names, files in os.walk(root):
            names[:] = sorted(set(names) - {"site-packages", "dist-packages"})
            inside = os.path.relpath(folder, root)
            paths = (os.path.normpath(os.path.join(inside, name)) for name in sorted(files) if name.endswith(".py"))
            yield from ((root, path) for path in paths)


def _readable_text(path: str) -> str:
    try:
        return Path(path).read_text("utf-8") if os.path.getsize(path) <= LARGEST_FILE else ""
    except (OSError, UnicodeDecodeError):
        return ""


def _invented_words(rng: Random, language: str) -> Zipf:
    characters = LANGUAGES[language]
    words = ("".join(rng.choices(characters, k=rng.choice((1, 2, 2, 2, 3)))) for _ in range(6_000))
    return Zipf(list(dict.fromkeys(words)))


def _paragraphs(rng: Random, words: list[str], space: str, stop: str) -> str:
    return "".join(f"{space.join(sentence)}{stop}{_paragraph_end(rng)}" for sentence in _sentences(rng, words)).rstrip()


def _sentences(rng: Random, words: list[str]) -> Iterable[list[str]]:
    start = 0
    while start < len(words):
        length = rng.randint(5, 19)
        yield words[start : start + length]
        start += length


def _paragraph_end(rng: Random) -> str:
    return "\n\n" if rng.random() < 0.2 else ""
