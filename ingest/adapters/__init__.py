"""One adapter for each agent whose session logs Origin reads."""

from ingest.adapters.claude_code import ADAPTER as CLAUDE_CODE
from ingest.adapters.codex import ADAPTER as CODEX
from ingest.adapters.cursor import ADAPTER as CURSOR
from ingest.adapters.grok import ADAPTER as GROK
from ingest.adapters.zcode import ADAPTER as ZCODE

ADAPTERS = (CLAUDE_CODE, CODEX, CURSOR, ZCODE, GROK)
