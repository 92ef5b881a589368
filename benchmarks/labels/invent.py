"""Write the invented sessions and the labels over them: `python -m benchmarks.labels.invent HOME LABELS.json`.

Then `python -m benchmarks.retrieval LABELS.json --home HOME`. Every id follows from its number: the same each time.
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from benchmarks.labels.topics import CJK, ENGLISH, NEGATIVES

PROJECTS = ("shop", "atlas", "billing", "studio")

Json = dict[str, Any]


def write(person: Path) -> list[Json]:
    """Write all sessions below `person` as Claude Code would; returns the labels."""
    labels = [{"query": query, "expected": [], "set": "negative"} for query in NEGATIVES]
    for number, (title, decision, name) in enumerate(ENGLISH):
        _write_session(person, number, title, _english_turns(number, title, decision, name))
        labels += _english_labels(number, title, name)
    for number, (language, title, decision, terms) in enumerate(CJK, len(ENGLISH)):
        _write_session(person, number, title, _cjk_turns(number, title, decision))
        labels += _cjk_labels(number, language, title, terms)
    return labels


# --- sessions


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def _path(number: int, name: str) -> str:
    return f"src/{PROJECTS[number % 4]}/{_snake(name)}_{number}.py"


def _error(number: int, name: str) -> str:
    return f"E{4000 + number}: {_snake(name).split('_')[-1]} handler gave up after {number + 7} ticks"


def _english_turns(number: int, title: str, decision: str, name: str) -> Iterator[tuple[str, object]]:
    written = name if number % 3 == 0 else _snake(name) if number % 3 == 1 else _snake(name).replace("_", "-")
    yield "user", f"Please look at this task today: {title[0].lower()}{title[1:]}."
    yield "assistant", f"I begin with {written} and read what calls it."
    yield (
        "call",
        {"file_path": f"/w/{PROJECTS[number % 4]}/{_path(number, name)}", "old_string": "a", "new_string": "b"},
    )
    yield "result", _error(number, name)
    yield "assistant", f"Decided: {decision}. The tests pass."


def _cjk_turns(number: int, title: str, decision: str) -> Iterator[tuple[str, object]]:
    yield "user", title
    yield "assistant", f"{decision}。担当module{number}Client再確認" if number % 2 else decision
    yield "call", {"file_path": f"/w/atlas/src/module_{number}.ts", "old_string": "a", "new_string": "b"}
    yield "result", "ok"


def _write_session(person: Path, number: int, title: str, turns: Iterator[tuple[str, object]]) -> None:
    project = PROJECTS[number % 4]
    folder = person / ".claude" / "projects" / f"-w-{project}"
    folder.mkdir(parents=True, exist_ok=True)
    native = _native(number)
    records = [_record(number, place, native, project, kind, said) for place, (kind, said) in enumerate(turns)]
    records.append({"type": "ai-title", "aiTitle": title, "sessionId": native})
    lines = "".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in records)
    (folder / f"{native}.jsonl").write_text(lines, "utf-8")


def _record(number: int, place: int, native: str, project: str, kind: str, said: object) -> Json:
    call = f"toolu_{number}"
    content: object = said
    if kind == "assistant":
        content = [{"type": "text", "text": said}]
    elif kind == "call":
        content = [{"type": "tool_use", "id": call, "name": "Edit", "input": said}]
    elif kind == "result":
        content = [{"type": "tool_result", "tool_use_id": call, "content": said}]
    role = "user" if kind in ("user", "result") else "assistant"
    return {
        "parentUuid": None,
        "isSidechain": False,
        "userType": "external",
        "cwd": f"/w/{project}",
        "sessionId": native,
        "version": "2.1.140",
        "gitBranch": "main",
        "type": role,
        "message": {"role": role, "content": content},
        "uuid": str(uuid5(NAMESPACE_URL, f"{native}/{place}")),
        "timestamp": f"2026-{1 + number // 28:02d}-{1 + number % 28:02d}T09:{place:02d}:00.000Z",
    }


def _native(number: int) -> str:
    return str(uuid5(NAMESPACE_URL, f"session/{number}"))


# --- labels


def _label(query: str, number: int, set_: str) -> Json:
    return {"query": query, "expected": [f"claude-code:{_native(number)}"], "set": set_}


def _english_labels(number: int, title: str, name: str) -> Iterator[Json]:
    words = _snake(name).replace("_", " ")
    yield _label(title, number, "title")
    yield _label(f"What did we decide when asked to {title[0].lower()}{title[1:]}?", number, "question")
    for spelling in (name, _snake(name), words):
        yield _label(spelling, number, "identifier")
    yield _label(_path(number, name), number, "path")
    yield _label(_error(number, name), number, "error")
    yield _label(f"({title.split()[-1]}, {title.split()[-2]})!", number, "punctuation")
    yield _label(f"E{4000 + number}", number, "short")


def _cjk_labels(number: int, language: str, title: str, terms: tuple[str, ...]) -> Iterator[Json]:
    asked = {"zh": f"我们为什么{title}？", "ja": f"{title}のはなぜですか？", "ko": f"{title} 왜 했나요?"}
    yield _label(title, number, "title")
    yield _label(asked[language], number, "question")
    yield _label(" ".join(terms[:2]), number, language)
    for term in terms:
        yield _label(term, number, language)
    if number % 2:
        yield _label(f"module{number}Client {terms[0]}", number, "mixed")


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(json.dumps(write(Path(sys.argv[1])), ensure_ascii=False, indent=1), "utf-8")
