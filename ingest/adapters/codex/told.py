"""What the interface was told: mostly what other records say too, sometimes all there is."""

import msgspec

from ingest.adapters.codex.messages import attachments_of, model_said, person_said, texts_of
from ingest.adapters.codex.record import (
    LONGEST_NAME,
    PARAGRAPHS,
    TOLD,
    Context,
    Read,
    id_of,
    known,
    list_of,
    meta,
    object_of,
    parsed,
)
from ingest.adapters.codex.tools import (
    MOST_FILES,
    Result,
    call_id_of,
    came_of,
    read_image,
    read_web_search,
    streams,
    tool_name,
)
from ingest.adapters.content import flatten
from memory.parsed import ParsedLine, Title


def read_told(context: Context) -> ParsedLine:
    """Read an `event_msg`."""
    return _read_by_type(_READERS, context)


def _item(context: Context) -> ParsedLine:
    """Newer builds tell of whole items, each with a type of its own."""
    return _read_by_type(_ITEMS, msgspec.structs.replace(context, payload=object_of(context.payload.get("item"))))


def _read_by_type(readers: dict[str, Read], context: Context) -> ParsedLine:
    kind = context.payload.get("type")
    read = readers.get(kind) if isinstance(kind, str) else None
    return read(context) if read else parsed(context)


def _person(context: Context) -> ParsedLine:
    payload = context.payload
    images = list_of(payload.get("images")) + list_of(payload.get("local_images"))
    attachments = attachments_of([{"type": "image", "image_url": image} for image in images])
    return person_said(context, texts_of(payload.get("message")), attachments, TOLD)


def _person_item(context: Context) -> ParsedLine:
    content = context.payload.get("content")
    return person_said(context, texts_of(content), attachments_of(content), TOLD)


def _model(context: Context) -> ParsedLine:
    return model_said(context, texts_of(context.payload.get("message") or context.payload.get("content")), [], TOLD)


def _command(context: Context) -> ParsedLine:
    payload = context.payload
    command = payload.get("command")
    words = [word for word in list_of(command) if isinstance(word, str)]
    asked = command if isinstance(command, str) else words[-1] if words[1:2] == ["-lc"] else " ".join(words)
    text = "\n".join(filter(None, (f"$ {asked}" if asked else "", streams(payload))))
    return _result(context, "exec_command", text, bool(payload.get("exit_code")))


def _patch(context: Context) -> ParsedLine:
    files = tuple(path for path in object_of(context.payload.get("changes")) if len(path) <= LONGEST_NAME)
    text = "\n".join(filter(None, (*files, streams(context.payload))))
    return _result(context, "apply_patch", text, context.payload.get("success") is False, files[:MOST_FILES])


def _server_tool(context: Context) -> ParsedLine:
    payload = context.payload
    asked = object_of(payload.get("invocation")) or payload
    result = payload.get("result")
    answer = object_of(object_of(result).get("Ok", result))
    error = object_of(result).get("Err") or payload.get("error")
    tool = f"mcp__{id_of(asked.get('server'))}__{id_of(asked.get('tool'))}"
    failed = bool(error) or answer.get("isError") is True
    return _result(context, tool, flatten(error or answer.get("content")), failed)


def _client_tool(context: Context) -> ParsedLine:
    payload = context.payload
    text = flatten(payload.get("content_items") or payload.get("error"))
    return _result(context, tool_name(payload), text, payload.get("success") is False)


def _result(context: Context, tool: str, text: str, failed: bool, files: tuple[str, ...] = ()) -> ParsedLine:
    return came_of(context, Result(call_id_of(context.payload), tool, text, failed, files), TOLD)


def _search(context: Context) -> ParsedLine:
    return read_web_search(context, TOLD)


def _image(context: Context) -> ParsedLine:
    return read_image(context, TOLD)


def _name(context: Context) -> ParsedLine:
    name, thread = context.payload.get("thread_name"), id_of(context.payload.get("thread_id"))
    # A copied history names the thread it was copied from, and as of now: that would undo a later name of it.
    if not isinstance(name, str) or not name.strip() or thread not in ("", known(context.state, "id")):
        return parsed(context)
    return ParsedLine(context.state, titles=(Title("custom", name.strip(), session=context.session),), at=context.at)


def _error(context: Context) -> ParsedLine:
    payload = context.payload
    said = payload.get("message") or object_of(payload.get("error")).get("message")
    return meta(context, f"[error] {said}" if isinstance(said, str) and said.strip() else "")


def _review(context: Context) -> ParsedLine:
    review = object_of(context.payload.get("review_output"))
    findings = map(object_of, list_of(review.get("findings")))
    texts = [finding.get(field) for finding in findings for field in ("title", "body")]
    return meta(context, PARAGRAPHS.join(texts_of([*texts, review.get("overall_explanation")])), "assistant")


def _plan(context: Context) -> ParsedLine:
    return meta(context, PARAGRAPHS.join(texts_of(context.payload.get("text"))), "assistant")


_READERS: dict[str, Read] = {
    "user_message": _person,
    "agent_message": _model,
    "exec_command_end": _command,
    "patch_apply_end": _patch,
    "mcp_tool_call_end": _server_tool,
    "dynamic_tool_call_response": _client_tool,
    "web_search_end": _search,
    "image_generation_end": _image,
    "item_completed": _item,
    "thread_name_updated": _name,
    "error": _error,
    "exited_review_mode": _review,
}
_ITEMS: dict[str, Read] = {
    "UserMessage": _person_item,
    "AgentMessage": _model,
    "CommandExecution": _command,
    "FileChange": _patch,
    "McpToolCall": _server_tool,
    "WebSearch": _search,
    "Extension": _search,
    "ImageGeneration": _image,
    "Plan": _plan,
}
