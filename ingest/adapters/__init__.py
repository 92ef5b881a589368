"""One adapter for each agent whose session logs Origin reads."""

from ingest.adapters.claude_code import ADAPTER as CLAUDE_CODE

ADAPTERS = (CLAUDE_CODE,)
