"""Entries in full-text indexes of their own, and the triggers that let records and all they say only grow."""

from django.db import migrations

from memory.schema_operations import append_only
from memory.sql import statements

# Every version that is not forgotten, so that history can be searched; a query adds status and trust.
VIEWS = """
CREATE VIEW visible_entry AS SELECT * FROM entry WHERE NOT forgotten;
CREATE VIEW entry_text AS SELECT id, text, grams FROM visible_entry;
"""

INDEXES = """
CREATE VIRTUAL TABLE entry_trigram USING fts5(
    text, content='entry_text', content_rowid='id', tokenize='trigram');
CREATE VIRTUAL TABLE entry_words USING fts5(
    text, content='entry_text', content_rowid='id', tokenize='porter unicode61 remove_diacritics 2');
CREATE VIRTUAL TABLE entry_grams USING fts5(
    grams, content='entry_text', content_rowid='id', tokenize='unicode61');
"""

_INDEX = """
    INSERT INTO entry_trigram(rowid, text) VALUES (new.id, new.text);
    INSERT INTO entry_words(rowid, text) VALUES (new.id, new.text);
    INSERT INTO entry_grams(rowid, grams) VALUES (new.id, new.grams);"""
_UNINDEX = """
    INSERT INTO entry_trigram(entry_trigram, rowid, text) VALUES ('delete', old.id, old.text);
    INSERT INTO entry_words(entry_words, rowid, text) VALUES ('delete', old.id, old.text);
    INSERT INTO entry_grams(entry_grams, rowid, grams) VALUES ('delete', old.id, old.grams);"""

# Invariant 2: a word that occurs only in what is forgotten is a word that never occurred.
INDEX_TRIGGERS = f"""
CREATE TRIGGER entry_index_insert AFTER INSERT ON entry WHEN NOT new.forgotten
BEGIN{_INDEX}
END;
CREATE TRIGGER entry_index_forget AFTER UPDATE OF forgotten ON entry WHEN new.forgotten AND NOT old.forgotten
BEGIN{_UNINDEX}
END;
CREATE TRIGGER entry_index_restore AFTER UPDATE OF forgotten ON entry WHEN old.forgotten AND NOT new.forgotten
BEGIN{_INDEX}
END;
"""

ENTRY_FIXED = (
    "id, record_id, entry_id, chain, kind, text, grams, confidence, author, project, valid_from, valid_to, recorded_at,"
    " first_trust, imported, digest"
)
TOMBSTONE_FIXED = "id, record_id, tombstone_id, target, reason, code"

TRIGGERS = "".join(
    [
        INDEX_TRIGGERS,
        append_only("record", "origin, oseq"),
        append_only("entry", "entry_id", "record_id", fixed=ENTRY_FIXED),
        append_only("entry_source", "entry_id, position"),
        append_only("entry_supersedes", "entry_id, older"),
        append_only("review", "review_id", "record_id"),
        append_only("ending", "record_id"),
        append_only("tombstone", "tombstone_id", "record_id", fixed=TOMBSTONE_FIXED),
        append_only("tombstone_effect", "tombstone, kind, item"),
        append_only("restore", "record_id"),
        append_only("project_alias", "record_id"),
        append_only("audit_log"),
    ]
)


class Migration(migrations.Migration):
    dependencies = [("memory", "0003_records_and_entries")]
    operations = [migrations.RunSQL(statements(script)) for script in (VIEWS, INDEXES, TRIGGERS)]
