"""The views every read goes through, the full-text indexes over them, and the triggers that keep both promises.

Each index reads its text from a view of its own kind, so that a `rebuild` can never pull in what another index holds
or what is excluded. Append-only is held for REPLACE and UPSERT too: a row whose key exists is ignored before any
conflict clause sees it, and `recursive_triggers` lets the delete inside a REPLACE meet the trigger that refuses it.
"""

from django.db import migrations

from memory.schema_operations import append_only
from memory.sql import statements

VIEWS = """
CREATE VIEW visible_event AS
    SELECT e.* FROM event e WHERE e.shadowed_by IS NULL
    AND NOT EXISTS (SELECT 1 FROM excluded_event x WHERE x.event_id = e.event_id);
CREATE VIEW visible_session AS SELECT * FROM session WHERE events > 0;
CREATE VIEW message_text AS SELECT id, text FROM visible_event WHERE kind = 'message';
CREATE VIEW tool_text AS SELECT id, text FROM visible_event WHERE kind IN ('tool_call', 'tool_result');
CREATE VIEW meta_text AS SELECT id, text FROM visible_event WHERE kind = 'meta' AND tool = '';
CREATE VIEW gram_text AS
    SELECT g.id, g.text FROM event_gram g JOIN visible_event e ON e.id = g.id;
CREATE VIEW session_text AS SELECT id, title, first_prompt FROM visible_session;
CREATE VIEW session_gram_text AS SELECT id, grams FROM visible_session;
"""

WORDS = "porter unicode61 remove_diacritics 2"

INDEXES = f"""
CREATE VIRTUAL TABLE message_trigram USING fts5(
    text, content='message_text', content_rowid='id', tokenize='trigram');
CREATE VIRTUAL TABLE message_words USING fts5(
    text, content='message_text', content_rowid='id', tokenize='{WORDS}');
CREATE VIRTUAL TABLE message_grams USING fts5(
    text, content='gram_text', content_rowid='id', tokenize='unicode61');
CREATE VIRTUAL TABLE tool_words USING fts5(
    text, content='tool_text', content_rowid='id', tokenize='unicode61');
CREATE VIRTUAL TABLE meta_words USING fts5(
    text, content='meta_text', content_rowid='id', tokenize='unicode61');
CREATE VIRTUAL TABLE session_trigram USING fts5(
    title, first_prompt, content='session_text', content_rowid='id', tokenize='trigram');
CREATE VIRTUAL TABLE session_words USING fts5(
    title, first_prompt, content='session_text', content_rowid='id', tokenize='{WORDS}');
CREATE VIRTUAL TABLE session_grams USING fts5(
    grams, content='session_gram_text', content_rowid='id', tokenize='unicode61');
INSERT INTO message_trigram(message_trigram, rank) VALUES ('automerge', 16);
INSERT INTO message_words(message_words, rank) VALUES ('automerge', 16);
INSERT INTO tool_words(tool_words, rank) VALUES ('automerge', 16);
"""

# Invariant 2: an event that arrives excluded never enters an index.
EVENT_TRIGGERS = """
CREATE TRIGGER event_message_index AFTER INSERT ON event
WHEN new.kind = 'message' AND new.shadowed_by IS NULL
    AND NOT EXISTS (SELECT 1 FROM excluded_event WHERE event_id = new.event_id)
BEGIN
    INSERT INTO message_trigram(rowid, text) VALUES (new.id, new.text);
    INSERT INTO message_words(rowid, text) VALUES (new.id, new.text);
END;
CREATE TRIGGER event_tool_index AFTER INSERT ON event
WHEN new.kind IN ('tool_call', 'tool_result') AND new.shadowed_by IS NULL
    AND NOT EXISTS (SELECT 1 FROM excluded_event WHERE event_id = new.event_id)
BEGIN
    INSERT INTO tool_words(rowid, text) VALUES (new.id, new.text);
END;
CREATE TRIGGER event_meta_index AFTER INSERT ON event
WHEN new.kind = 'meta' AND new.tool = '' AND new.shadowed_by IS NULL
    AND NOT EXISTS (SELECT 1 FROM excluded_event WHERE event_id = new.event_id)
BEGIN
    INSERT INTO meta_words(rowid, text) VALUES (new.id, new.text);
END;
CREATE TRIGGER event_gram_index AFTER INSERT ON event_gram
WHEN EXISTS (SELECT 1 FROM visible_event WHERE id = new.id)
BEGIN
    INSERT INTO message_grams(rowid, text) VALUES (new.id, new.text);
END;
"""


def unindex(event: str) -> str:
    """Statements that take the event which `event` selects out of every index."""
    return f"""
    INSERT INTO message_trigram(message_trigram, rowid, text)
        SELECT 'delete', id, text FROM event WHERE {event} AND kind = 'message';
    INSERT INTO message_words(message_words, rowid, text)
        SELECT 'delete', id, text FROM event WHERE {event} AND kind = 'message';
    INSERT INTO message_grams(message_grams, rowid, text)
        SELECT 'delete', g.id, g.text FROM event_gram g WHERE g.id = (SELECT id FROM event WHERE {event});
    INSERT INTO tool_words(tool_words, rowid, text)
        SELECT 'delete', id, text FROM event WHERE {event} AND kind IN ('tool_call', 'tool_result');
    INSERT INTO meta_words(meta_words, rowid, text)
        SELECT 'delete', id, text FROM event WHERE {event} AND kind = 'meta' AND tool = '';"""


def index(event: str) -> str:
    """Statements that put the event which `event` selects into the indexes of its kind."""
    return f"""
    INSERT INTO message_trigram(rowid, text) SELECT id, text FROM event WHERE {event} AND kind = 'message';
    INSERT INTO message_words(rowid, text) SELECT id, text FROM event WHERE {event} AND kind = 'message';
    INSERT INTO message_grams(rowid, text)
        SELECT g.id, g.text FROM event_gram g WHERE g.id = (SELECT id FROM event WHERE {event});
    INSERT INTO tool_words(rowid, text)
        SELECT id, text FROM event WHERE {event} AND kind IN ('tool_call', 'tool_result');
    INSERT INTO meta_words(rowid, text)
        SELECT id, text FROM event WHERE {event} AND kind = 'meta' AND tool = '';"""


# Forgetting takes a row out of every index, and lifting the last exclusion puts it back; so does hiding a twin.
HIDING_TRIGGERS = f"""
CREATE TRIGGER excluded_event_hide AFTER INSERT ON excluded_event
WHEN (SELECT count(*) FROM excluded_event WHERE event_id = new.event_id) = 1
BEGIN{unindex("event_id = new.event_id AND shadowed_by IS NULL")}
END;
CREATE TRIGGER excluded_event_show AFTER DELETE ON excluded_event
WHEN NOT EXISTS (SELECT 1 FROM excluded_event WHERE event_id = old.event_id)
BEGIN{index("event_id = old.event_id AND shadowed_by IS NULL")}
END;
CREATE TRIGGER excluded_event_fixed BEFORE UPDATE ON excluded_event
BEGIN
    SELECT RAISE(ABORT, 'excluded_event rows are added and removed, never changed');
END;
CREATE TRIGGER event_twin_hide AFTER UPDATE OF shadowed_by ON event
WHEN old.shadowed_by IS NULL AND new.shadowed_by IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM excluded_event WHERE event_id = new.event_id)
BEGIN{unindex("id = new.id")}
END;
CREATE TRIGGER event_twin_show AFTER UPDATE OF shadowed_by ON event
WHEN old.shadowed_by IS NOT NULL AND new.shadowed_by IS NULL
    AND NOT EXISTS (SELECT 1 FROM excluded_event WHERE event_id = new.event_id)
BEGIN{index("id = new.id")}
END;
"""

_UNINDEX_SESSION = """
    INSERT INTO session_trigram(session_trigram, rowid, title, first_prompt)
        SELECT 'delete', old.id, old.title, old.first_prompt WHERE old.events > 0;
    INSERT INTO session_words(session_words, rowid, title, first_prompt)
        SELECT 'delete', old.id, old.title, old.first_prompt WHERE old.events > 0;
    INSERT INTO session_grams(session_grams, rowid, grams) SELECT 'delete', old.id, old.grams WHERE old.events > 0;"""
_INDEX_SESSION = """
    INSERT INTO session_trigram(rowid, title, first_prompt)
        SELECT new.id, new.title, new.first_prompt WHERE new.events > 0;
    INSERT INTO session_words(rowid, title, first_prompt)
        SELECT new.id, new.title, new.first_prompt WHERE new.events > 0;
    INSERT INTO session_grams(rowid, grams) SELECT new.id, new.grams WHERE new.events > 0;"""

SESSION_TRIGGERS = f"""
CREATE TRIGGER session_index_insert AFTER INSERT ON session
BEGIN{_INDEX_SESSION}
END;
CREATE TRIGGER session_index_update AFTER UPDATE ON session
WHEN old.title IS NOT new.title OR old.first_prompt IS NOT new.first_prompt OR old.grams IS NOT new.grams
    OR (old.events > 0) IS NOT (new.events > 0)
BEGIN{_UNINDEX_SESSION}{_INDEX_SESSION}
END;
CREATE TRIGGER session_index_delete AFTER DELETE ON session
BEGIN{_UNINDEX_SESSION}
END;
"""

# What follows an event's owner place may change, and shadowed_by with its twins.
EVENT_FIXED = "id, event_id, kind, role, at, inferred, tool, text, digest, raw_file_id, line, home, twin, rank"
# A malformed line may turn out readable by a later parser.
MALFORMED_FIXED = "id, raw_file_id, line, reason, agent_version"

TRIGGERS = "".join(
    [
        EVENT_TRIGGERS,
        HIDING_TRIGGERS,
        SESSION_TRIGGERS,
        append_only("event", "event_id", fixed=EVENT_FIXED),
        append_only("event_place", "event, raw_file_id, line"),
        append_only("event_file", "event, path"),
        append_only("event_gram"),
        append_only("raw_frame", "raw_file_id, raw_offset"),
        append_only("malformed_line", "raw_file_id, line", fixed=MALFORMED_FIXED),
        append_only("session_title", "raw_file_id, line, kind"),
    ]
)


class Migration(migrations.Migration):
    dependencies = [("memory", "0001_initial")]
    operations = [migrations.RunSQL(statements(script)) for script in (VIEWS, INDEXES, TRIGGERS)]
