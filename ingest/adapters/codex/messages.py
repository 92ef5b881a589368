"""What the person and the model said in a Codex session."""

from typing import Any

from ingest.adapters.codex.markup import read_turn
from ingest.adapters.codex.record import PARAGRAPHS, SHOWN, Context, event, id_of, meta, object_of, parsed, twin_key
from ingest.adapters.content import is_binary, placeholder
from ingest.adapters.markup import Said, together
from memory.parsed import ParsedLine


def read_message(context: Context) -> ParsedLine:
    """Read a message as the model sees it; what is neither the person's nor the model's is meta."""
    content = context.payload.get("content") or context.payload.get("message")
    role = context.payload.get("role")
    if role == "user":
        return person_said(context, texts_of(content), attachments_of(content), SHOWN)
    if role == "assistant":
        return model_said(context, texts_of(content), attachments_of(content), SHOWN)
    return meta(context, PARAGRAPHS.join(texts_of(content)))


def person_said(context: Context, texts: list[str], attachments: list[str], rank: int) -> ParsedLine:
    """Return a message of the person's words alone, or meta where there are none."""
    said = together(map(read_turn, texts))
    if said.meta and attachments:
        said = Said("")
    text = PARAGRAPHS.join(filter(None, (said.text, *attachments)))
    if not text.strip():
        return parsed(context)
    machine = said.meta or context.state.get("helper") is True
    # The interface knows an image by another name, so what makes two messages the same is their words alone.
    twin = twin_key("user", said.text)
    return parsed(context, event(context, "meta" if machine else "message", said.role, text, twin, rank))


def model_said(context: Context, texts: list[str], attachments: list[str], rank: int) -> ParsedLine:
    """Return a message of the model's."""
    if not texts and not attachments:
        return parsed(context)
    twin = twin_key("assistant", PARAGRAPHS.join(texts))
    return parsed(context, event(context, "message", "assistant", PARAGRAPHS.join(texts + attachments), twin, rank))


def read_from_agent(context: Context) -> ParsedLine:
    """Read what one agent sent another; a part that is encrypted is left out."""
    names = (id_of(context.payload.get("author")), id_of(context.payload.get("recipient")))
    texts = texts_of(context.payload.get("content"))
    return meta(context, "\n".join(filter(None, (" → ".join(filter(None, names)), *texts))) if texts else "")


def read_compacted(context: Context) -> ParsedLine:
    """Read the summary that took the place of older records; the copies of those are not read again."""
    return meta(context, PARAGRAPHS.join(texts_of(context.payload.get("message"))))


def texts_of(content: object) -> list[str]:
    """Return the texts of content, which is a text, a block or a list of either."""
    found = (block if isinstance(block, str) else object_of(block).get("text") for block in _blocks(content))
    return [text for text in found if isinstance(text, str) and text.strip()]


def attachments_of(content: object) -> list[str]:
    """Return a placeholder for each image, document or sound in content."""
    return [placeholder(block) for block in _blocks(content) if isinstance(block, dict) and is_binary(block)]


def _blocks(content: object) -> list[Any]:
    return content if isinstance(content, list) else [content]
