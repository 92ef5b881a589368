"""Readable text out of the content, calls and results that agents log as JSON."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

# Deeper than any agent nests; below it a block is shown as the JSON it is.
_DEEPEST = 16
# What a block that holds no text is called, by the names that agents have for it.
_BINARY = {name: name for name in ("image", "document", "audio", "video", "file")} | {
    "input_image": "image",
    "inputImage": "image",
    "image_url": "image",
    "localImage": "image",
    "input_audio": "audio",
    "inputAudio": "audio",
    "input_file": "file",
}
_ADDRESSES = ("source", "image_url", "imageUrl")
_PATH_KEYS = frozenset(
    {
        *("file", "file_path", "filePath", "filename", "files", "notebook_path", "path", "paths", "relative_path"),
        *("relativeWorkspacePath", "target_file", "targetFile"),
    }
)
_MOST_FILES = 64
_LONGEST_PATH = 4_096


def compact_json(value: object) -> str:
    """Return what was read from JSON as JSON without white space."""
    try:
        return msgspec.json.encode(value).decode()
    except RecursionError:
        return "[nested too deeply]"


def flatten(content: object, depth: int = 0) -> str:
    """Return the text of a message's or a result's content: a string, a block, or any nesting of lists of them."""
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    if depth < _DEEPEST:
        if isinstance(content, list):
            return "\n".join(filter(None, (flatten(item, depth + 1) for item in content)))
        if isinstance(content, dict):
            return _block_text(content, depth)
    return compact_json(content)


def spoken(block: object) -> str:
    """Return what a block adds to the message it stands in: its text, or the placeholder of what is binary."""
    if isinstance(block, str):
        return block
    if not isinstance(block, dict):
        return ""
    if block.get("type") in ("text", None):
        text = block.get("text")
        return text if isinstance(text, str) else ""
    return flatten(block) if is_binary(block) else ""


def is_binary(block: Mapping[str, Any]) -> bool:
    """True for a block that holds an image, a document or a sound."""
    source = block.get("source")
    if isinstance(source, dict) and source.get("type") == "base64":
        return True
    kind = block.get("type")
    return isinstance(kind, str) and kind in _BINARY


def placeholder(block: Mapping[str, Any]) -> str:
    """Return `[image image/png]` for a binary block."""
    kind = _first_text(block, ("type",)) or "file"
    addresses = (_media_type(block.get(name)) for name in _ADDRESSES)
    media = next(filter(None, addresses), "") or _first_text(block, ("mimeType", "media_type"))
    kind = _BINARY.get(kind, kind)
    return f"[{kind} {media}]" if media else f"[{kind}]"


def call_text(name: str, arguments: object) -> str:
    """Return a tool call to read and search: the tool's name, then a `key: value` line for each argument."""
    return "\n".join(filter(None, (name, *_argument_lines(arguments))))


def named_files(arguments: object) -> tuple[str, ...]:
    """Return the files a tool call's arguments name, as given there."""
    if not isinstance(arguments, dict) or _PATH_KEYS.isdisjoint(arguments):
        return ()
    values = (value for key, value in arguments.items() if key in _PATH_KEYS)
    return tuple(dict.fromkeys(_paths(values)))[:_MOST_FILES]


def _block_text(block: dict[str, Any], depth: int) -> str:
    if isinstance(block.get("text"), str):
        return str(block["text"])
    if block.get("type") == "text":
        return ""
    if block.get("type") == "resource" and isinstance(block.get("resource"), dict):
        return _resource_text(block["resource"])
    if is_binary(block):
        return _plain_document(block) or placeholder(block)
    if "content" in block:
        return flatten(block["content"], depth + 1)
    if isinstance(block.get("url"), str):
        # Search results come with an encrypted copy of the page: the title and address are all there is to read.
        return "\n".join(filter(None, (_first_text(block, ("title",)), block["url"])))
    return compact_json(block)


def _plain_document(block: dict[str, Any]) -> str:
    source = block.get("source")
    if isinstance(source, dict) and source.get("type") == "text":
        return _first_text(source, ("data",))
    return ""


def _resource_text(resource: dict[str, Any]) -> str:
    named = ("resource", _first_text(resource, ("mimeType",)), _first_text(resource, ("uri",)))
    return _first_text(resource, ("text",)) or f"[{' '.join(filter(None, named))}]"


def _media_type(source: object) -> str:
    """Return what is known of binary content by its source, or by its address alone."""
    if isinstance(source, str):
        source = {"url": source}
    if not isinstance(source, dict):
        return ""
    address = _first_text(source, ("url",))
    if address.startswith("data:"):
        return address[5:101].partition(";")[0].partition(",")[0]
    return _first_text(source, ("media_type", "mimeType")) or address[:_LONGEST_PATH]


def _first_text(mapping: Mapping[str, Any], keys: Iterable[str]) -> str:
    return next((mapping[key] for key in keys if isinstance(mapping.get(key), str) and mapping[key]), "")


def _argument_lines(arguments: object) -> Iterator[str]:
    if isinstance(arguments, dict):
        for key, value in arguments.items():
            yield f"{key}: {value if isinstance(value, str) else compact_json(value)}"
    elif arguments is not None:
        yield arguments if isinstance(arguments, str) else compact_json(arguments)


def _paths(values: Iterable[object]) -> Iterator[str]:
    for value in values:
        if isinstance(value, list):
            yield from _paths(item for item in value if isinstance(item, str))
        elif isinstance(value, str) and 0 < len(value) <= _LONGEST_PATH:
            yield value
