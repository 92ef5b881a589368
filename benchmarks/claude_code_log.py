"""Invented Claude Code sessions, record by record, in the client's own format.

The shares (what is a message, a call or a result, and how long each is) follow real logs.
"""

import base64
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import NamedTuple

import msgspec

from benchmarks.corpus import Corpus, SourceFile

VERSIONS = ("2.0.61", "2.1.42", "2.1.118")  # what a session logs beside its talk changed with the client's version
MODEL = "claude-synthetic-1"

JsonObject = dict[str, object]


class Call(NamedTuple):
    """A tool call with what came of it: the text the model saw and the client's own copy of it."""

    tool: str
    input: JsonObject
    result: str
    copy: JsonObject | str
    failed: bool = False


@dataclass
class Transcript:
    """A session's file in the making: it knows the time and the last record, and makes whole records of bodies."""

    rng: Random
    corpus: Corpus
    cwd: str
    branch: str
    version: str
    language: str
    session_id: str
    now: datetime
    files: list[SourceFile]
    agent_id: str = ""
    last: str | None = None
    last_prompt: str = ""
    sub_agents: list["Transcript"] = field(default_factory=list)

    def record(self, type_: str, body: JsonObject, seconds: float = 3.0) -> JsonObject:
        """The next record of the conversation, some `seconds` after the one before."""
        self.now += timedelta(seconds=self.rng.uniform(0.05, 2 * seconds))
        parent, self.last = self.last, new_uuid(self.rng)
        return {
            "parentUuid": parent,
            "isSidechain": bool(self.agent_id),
            "userType": "external",
            "cwd": self.cwd,
            "sessionId": self.session_id,
            "version": self.version,
            "gitBranch": self.branch,
            **({"agentId": self.agent_id} if self.agent_id else {}),
            "type": type_,
            **body,
            "uuid": self.last,
            "timestamp": stamp(self.now),
        }

    def prose(self, mean: float) -> str:
        return self.corpus.prose(self.rng, self.length(mean), self.language)

    def length(self, mean: float) -> int:
        """A length drawn around `mean`: mostly short, now and then very long."""
        return min(int(self.rng.lognormvariate(0, 1.1) * mean / 1.83) + 20, 80_000)

    def path(self, file: SourceFile) -> str:
        return f"{self.cwd}/src/{file.path}"

    def any_file(self) -> SourceFile:
        """Mostly one of the few files that the session is about."""
        return self.rng.choice(self.files if self.rng.random() < 0.8 else self.corpus.files)

    def excerpt(self, file: SourceFile, size: int) -> tuple[int, list[str]]:
        """Consecutive lines of about `size` bytes, with the index of the first."""
        lines = file.lines
        start = self.rng.randrange(len(lines))
        end = start
        while size > 0 and end < len(lines):
            size -= len(lines[end]) + 1
            end += 1
        return start, lines[start:end]


# --- what a session consists of


def conversation(log: Transcript) -> Iterator[JsonObject]:
    """Turns without end: the writer stops when its file is long enough."""
    while True:
        yield from asking(log)
        for _ in range(log.rng.randint(3, 22)):
            if log.rng.random() < 0.12:
                yield thinking(log)
            if log.rng.random() < 0.3:
                yield answer(log)
            yield from tool_round(log)
        yield answer(log)
        yield from turn_end(log)


def asking(log: Transcript) -> Iterator[JsonObject]:
    if log.last or not log.agent_id:  # the first prompt of a sub-agent is its caller's
        log.last_prompt = log.prose(760)
    if log.version == VERSIONS[2] and not log.agent_id:
        yield queue_operation(log)
        if log.last and log.rng.random() < 0.2:
            yield log.record("attachment", {"attachment": queued_command(log)}, 60)
            return
    prompt = log.record("user", {"message": {"role": "user", "content": log.last_prompt}}, 240)
    yield prompt
    if not log.agent_id:
        yield file_history_snapshot(log, prompt)


def thinking(log: Transcript) -> JsonObject:
    signature = base64.b64encode(log.rng.randbytes(log.length(500))).decode()
    return assistant(log, {"type": "thinking", "thinking": log.prose(700), "signature": signature})


def answer(log: Transcript) -> JsonObject:
    text = log.prose(640)
    if log.rng.random() < 0.15:
        _, code = log.excerpt(log.any_file(), 400)
        text += "\n\n```python\n" + "\n".join(code) + "\n```"
    return assistant(log, {"type": "text", "text": text})


def tool_round(log: Transcript) -> Iterator[JsonObject]:
    call = make_call(log)
    call_id = "toolu_01" + token(log.rng, 22)
    block: JsonObject = {"type": "tool_use", "id": call_id, "name": call.tool, "input": call.input}
    yield assistant(log, block)
    asked_by = log.last
    yield from progress(log, call_id)
    content = {"tool_use_id": call_id, "type": "tool_result", "content": call.result, "is_error": call.failed}
    body: JsonObject = {"message": {"role": "user", "content": [content]}, "toolUseResult": call.copy}
    if log.version != VERSIONS[0]:
        body["sourceToolAssistantUUID"] = asked_by
    yield log.record("user", body, 5)


def progress(log: Transcript, call_id: str) -> Iterator[JsonObject]:
    """What a running tool reports; only the middle one of the versions logs it."""
    if log.version != VERSIONS[1] or log.rng.random() < 0.6:
        return
    data: JsonObject = {"type": "bash_progress", "output": output_text(log, 900), "elapsedTimeSeconds": 2}
    yield log.record("progress", {"data": data, "toolUseID": f"bash-{call_id[-6:]}", "parentToolUseID": call_id}, 1)


def turn_end(log: Transcript) -> Iterator[JsonObject]:
    body: JsonObject = {"subtype": "turn_duration", "durationMs": log.rng.randint(5_000, 900_000), "isMeta": False}
    yield log.record("system", body)
    if log.version == VERSIONS[2] and not log.agent_id:
        yield {"type": "last-prompt", "lastPrompt": log.last_prompt, "sessionId": log.session_id}
        yield {"type": "ai-title", "aiTitle": title(log), "sessionId": log.session_id}


def assistant(log: Transcript, block: JsonObject) -> JsonObject:
    usage = {
        "input_tokens": log.rng.randint(1, 40),
        "cache_creation_input_tokens": log.rng.randint(0, 9_000),
        "cache_read_input_tokens": log.rng.randint(10_000, 150_000),
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
        "output_tokens": log.rng.randint(1, 3_000),
        "service_tier": "standard",
    }
    message: JsonObject = {
        "model": MODEL,
        "id": "msg_01" + token(log.rng, 22),
        "type": "message",
        "role": "assistant",
        "content": [block],
        "stop_reason": "tool_use" if block["type"] == "tool_use" else None,
        "stop_sequence": None,
        "usage": usage,
    }
    return log.record("assistant", {"message": message, "requestId": "req_01" + token(log.rng, 22)}, 8)


def queue_operation(log: Transcript) -> JsonObject:
    body = {"type": "queue-operation", "operation": "enqueue", "timestamp": stamp(log.now)}
    return {**body, "sessionId": log.session_id, "content": log.last_prompt}


def queued_command(log: Transcript) -> JsonObject:
    return {"type": "queued_command", "prompt": log.last_prompt, "commandMode": "prompt"}


def file_history_snapshot(log: Transcript, prompt: JsonObject) -> JsonObject:
    backups = {
        log.path(file): {"backupFileName": f"{token(log.rng, 16)}@v1", "version": 1, "backupTime": stamp(log.now)}
        for file in log.files
    }
    snapshot = {"messageId": prompt["uuid"], "trackedFileBackups": backups, "timestamp": stamp(log.now)}
    body: JsonObject = {"messageId": prompt["uuid"], "snapshot": snapshot, "isSnapshotUpdate": False}
    return {"type": "file-history-snapshot", **body}


def closing(log: Transcript) -> Iterator[JsonObject]:
    if log.version == VERSIONS[0] and not log.agent_id:
        yield {"type": "summary", "summary": title(log), "leafUuid": log.last}


def title(log: Transcript) -> str:
    words = log.last_prompt.split(maxsplit=7)[:7]
    return " ".join(words)[:80].rstrip(".。 ")


def long_conversation(log: Transcript, line_size: int) -> Iterator[JsonObject]:
    """Turns without end of one call each, whose result makes a line of about `line_size` bytes."""
    while True:
        yield from asking(log)
        call = bash(log)
        output = long_text(log, (line_size - 2_000) // 2)
        call_id = "toolu_01" + token(log.rng, 22)
        yield assistant(log, {"type": "tool_use", "id": call_id, "name": call.tool, "input": call.input})
        content = {"tool_use_id": call_id, "type": "tool_result", "content": output, "is_error": False}
        message = {"role": "user", "content": [content]}
        yield log.record("user", {"message": message, "toolUseResult": {"stdout": output, "stderr": ""}})


def long_text(log: Transcript, size: int) -> str:
    """Whole files after one another whose JSON form has about `size` bytes."""
    pieces: list[str] = []
    while size > 0:
        piece = "\n".join(log.rng.choice(log.corpus.files).lines)
        pieces.append(piece)
        size -= len(msgspec.json.encode(piece))
    return "\n".join(pieces)


# --- tools


def make_call(log: Transcript) -> Call:
    make = log.rng.choices((read, bash, edit, grep, write, task), weights=(30, 36, 17, 12, 4, 1))[0]
    if log.rng.random() < 0.04:
        return failing(make(log), log)
    return make(log)


def failing(call: Call, log: Transcript) -> Call:
    message = f"Error: {log.corpus.prose(log.rng, 150)}"
    return call._replace(result=message, copy=message, failed=True)


def read(log: Transcript) -> Call:
    file = log.any_file()
    start, lines = log.excerpt(file, log.length(2_500))
    shown = "\n".join(f"{number:>6}→{line}" for number, line in enumerate(lines, start + 1))
    copy = {
        "filePath": log.path(file),
        "content": "\n".join(lines),
        "numLines": len(lines),
        "startLine": start + 1,
        "totalLines": len(file.lines),
    }
    call_input: JsonObject = {"file_path": log.path(file), "offset": start + 1, "limit": len(lines)}
    return Call("Read", call_input, shown, {"type": "text", "file": copy})


def bash(log: Transcript) -> Call:
    words = log.corpus.words.draw(log.rng, 5)
    command = f"cd {log.cwd} && python -m pytest -q -k '{words[0]} or {words[1]}' src/{log.any_file().path} | tail -40"
    output = output_text(log, 1_500)
    copy: JsonObject = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}
    return Call("Bash", {"command": command, "description": " ".join(words)}, output, copy)


def grep(log: Transcript) -> Call:
    word = log.corpus.words.draw(log.rng, 1)[0]
    files = [log.any_file() for _ in range(log.rng.randint(1, 8))]
    places = [(file, *log.excerpt(file, log.length(160))) for file in files]
    output = "\n".join(
        f"{log.path(file)}:{number}:{line}"
        for file, start, lines in places
        for number, line in enumerate(lines, start + 1)
    )
    copy: JsonObject = {"mode": "content", "numFiles": 0, "filenames": [], "content": output, "numLines": len(files)}
    return Call("Grep", {"pattern": word, "path": log.cwd, "output_mode": "content", "-n": True}, output, copy)


def edit(log: Transcript) -> Call:
    file = log.any_file()
    start, lines = log.excerpt(file, log.length(620))
    old = "\n".join(lines)
    word, better, *more = log.corpus.words.draw(log.rng, 10)
    new = old.replace(word, better) + "\n" + " ".join(more)
    shown = "\n".join(f"{number:>6}→{line}" for number, line in enumerate(new.splitlines(), start + 1))
    result = f"The file {log.path(file)} has been updated. Here's the result of running `cat -n` on a snippet:\n{shown}"
    patch = [f"-{line}" for line in lines] + [f"+{line}" for line in new.splitlines()]
    count, first = len(lines), start + 1
    hunk = {"oldStart": first, "oldLines": count, "newStart": first, "newLines": len(patch) - count, "lines": patch}
    call_input: JsonObject = {"file_path": log.path(file), "old_string": old, "new_string": new}
    copy = {"filePath": log.path(file), "oldString": old, "newString": new, "structuredPatch": [hunk]}
    return Call("Edit", call_input, result, {**copy, "userModified": False, "replaceAll": False})


def write(log: Transcript) -> Call:
    file = log.any_file()
    content = "\n".join(log.excerpt(file, log.length(2_500))[1])
    path = f"{log.cwd}/src/new_{token(log.rng, 6)}.py"
    copy: JsonObject = {"type": "create", "filePath": path, "content": content, "structuredPatch": []}
    return Call("Write", {"file_path": path, "content": content}, f"File created successfully at: {path}", copy)


def task(log: Transcript) -> Call:
    """Sub-agents do not start others, as in the real client."""
    if log.agent_id:
        return bash(log)
    prompt, report = log.prose(600), log.prose(900)
    agent = sub_agent(log, prompt)
    log.sub_agents.append(agent)
    call_input: JsonObject = {"description": title(log), "prompt": prompt, "subagent_type": "general-purpose"}
    content = [{"type": "text", "text": report}]
    copy: JsonObject = {"status": "completed", "prompt": prompt, "agentId": agent.agent_id, "content": content}
    return Call("Task", call_input, report, copy)


def sub_agent(log: Transcript, prompt: str) -> Transcript:
    return Transcript(
        log.rng,
        log.corpus,
        cwd=log.cwd,
        branch=log.branch,
        version=log.version,
        language=log.language,
        session_id=log.session_id,
        now=log.now,
        files=log.files,
        agent_id=f"{log.rng.getrandbits(32):08x}",
        last_prompt=prompt,
    )


def output_text(log: Transcript, mean: float) -> str:
    """What a program prints: paths, words, numbers and hashes in lines, or a piece of a file as it stands."""
    size = log.length(mean)
    if log.rng.random() < 0.5:
        return "\n".join(log.excerpt(log.any_file(), size)[1])
    words = log.corpus.words.draw(log.rng, size // 75 * 6 + 6)
    return "\n".join(output_line(log.rng, *words[start : start + 6]) for start in range(0, len(words), 6))


def output_line(rng: Random, file: str, first: str, second: str, third: str, *rest: str) -> str:
    number = int(rng.random() * 10_000)
    return f"{number:>5} {rng.getrandbits(28):07x} {file}.py::{first}_{second}_{third} {' '.join(rest)}"


# --- ids and times


def new_uuid(rng: Random) -> str:
    digits = f"{rng.getrandbits(128):032x}"
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"


def token(rng: Random, length: int) -> str:
    return base64.b64encode(rng.randbytes(length)).translate(None, b"+/=")[:length].decode()


def stamp(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds")[:23] + "Z"
