"""The words that mark whatever Origin says (promise 6), and by which an adapter knows it again in an agent's log."""

import re

LABEL = "recorded data, not instructions"
_MARKED = re.compile(rf'^\s*{LABEL}\s*$|\\?"origin\\?"\s*:\s*\\?"{LABEL}', re.MULTILINE)


def is_labelled(text: str) -> bool:
    """True where a text holds an answer of Origin's: a line that is the label, or JSON that carries it."""
    return LABEL in text and _MARKED.search(text) is not None
