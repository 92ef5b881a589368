"""Every table of the store. Views, full-text indexes and triggers are made in the migrations beside it.

Times are UTC text `YYYY-MM-DDTHH:MM:SS.sssZ`, so that they sort as they read.
"""

from django.db import models


class Setting(models.Model):
    """A single fact about this store, such as its uuid."""

    key = models.CharField(max_length=64, primary_key=True)
    value = models.TextField()

    class Meta:
        db_table = "setting"


class RawFile(models.Model):
    """One generation of one mirrored file: what was ingested, and what the next append needs to know.

    `bytes` and `lines` count the uncompressed source (`lines` its newlines); `stored_bytes` is the mirror's length.
    `open_line` says that the last line ingested had no newline yet, so that later bytes continue it.
    `size`, `mtime_ns` and `inode` are the source as last seen, so that an unchanged file costs one stat.
    `next_key` to `end_key` are event keys reserved for this file.
    """

    store = models.CharField(max_length=36, default="")
    source = models.CharField(max_length=32)
    logical_path = models.TextField()
    generation = models.IntegerField(default=0)
    origin_path = models.TextField()
    mirror_path = models.TextField(unique=True)
    form = models.CharField(max_length=8, default="lines")
    first_seen = models.CharField(max_length=24)
    bytes = models.BigIntegerField(default=0)
    lines = models.BigIntegerField(default=0)
    stored_bytes = models.BigIntegerField(default=0)
    open_line = models.BooleanField(default=False)
    head_sha256 = models.CharField(max_length=64, default="")
    tail_sha256 = models.CharField(max_length=64, default="")
    size = models.BigIntegerField(default=-1)
    mtime_ns = models.BigIntegerField(default=-1)
    inode = models.BigIntegerField(default=-1)
    parser_state = models.TextField(default="{}")
    watermark = models.TextField(default="{}")
    last_at = models.CharField(max_length=24, default="")
    agent_version = models.CharField(max_length=64, default="")
    parsed = models.BigIntegerField(default=0)
    skipped = models.BigIntegerField(default=0)
    malformed = models.BigIntegerField(default=0)
    blank = models.BigIntegerField(default=0)
    next_key = models.BigIntegerField(default=0)
    end_key = models.BigIntegerField(default=0)

    class Meta:
        db_table = "raw_file"
        constraints = [
            models.UniqueConstraint(fields=["store", "source", "logical_path", "generation"], name="raw_file_key"),
        ]


class RawFrame(models.Model):
    """Where a zstd frame of a mirror starts, and the SHA-256 of its uncompressed content.

    `stored_sha256` is of the frame itself, whose format has bits that nothing reads; unknown of frames from before it.
    """

    raw_file = models.ForeignKey(RawFile, models.PROTECT, related_name="frames")
    first_line = models.BigIntegerField()
    lines = models.BigIntegerField()
    raw_offset = models.BigIntegerField()
    raw_length = models.BigIntegerField()
    stored_offset = models.BigIntegerField()
    stored_length = models.BigIntegerField()
    sha256 = models.BinaryField(max_length=32)
    stored_sha256 = models.BinaryField(max_length=32, null=True)

    class Meta:
        db_table = "raw_frame"
        constraints = [models.UniqueConstraint(fields=["raw_file", "raw_offset"], name="raw_frame_offset")]


class MalformedLine(models.Model):
    """A line that could not be used, and why; the text stays in the mirror. `mended`: a later parser can use it."""

    raw_file = models.ForeignKey(RawFile, models.PROTECT)
    line = models.BigIntegerField()
    reason = models.CharField(max_length=80)
    agent_version = models.CharField(max_length=64, default="")
    mended = models.BooleanField(default=False)

    class Meta:
        db_table = "malformed_line"
        constraints = [models.UniqueConstraint(fields=["raw_file", "line"], name="malformed_line_place")]


class Session(models.Model):
    """What a session's visible events add up to; derived, and rebuilt by `sessions.rebuild`.

    A row with no visible event stands only for the session's id and is shown by nothing.
    `head_*` is the order key of the event whose cwd named the project, `prompt_*` of the first real words. `replays`
    is the session whose history this one begins with, `replayed` how many events of it were recognised so far.
    """

    session_id = models.TextField(unique=True)
    source = models.CharField(max_length=32)
    parent = models.TextField(default="")
    title = models.TextField(default="")
    first_prompt = models.TextField(default="")
    grams = models.TextField(default="")
    project = models.TextField(default="")
    cwd = models.TextField(default="")
    branch = models.TextField(default="")
    first_at = models.CharField(max_length=24, default="")
    last_at = models.CharField(max_length=24, default="")
    events = models.IntegerField(default=0)
    messages = models.IntegerField(default=0)
    tool_calls = models.IntegerField(default=0)
    head_at = models.CharField(max_length=24, default="")
    head_ordinal = models.BigIntegerField(default=0)
    prompt_at = models.CharField(max_length=24, default="")
    prompt_ordinal = models.BigIntegerField(default=0)
    replays = models.TextField(default="")
    replayed = models.IntegerField(default=0)
    replay_ended = models.BooleanField(default=False)

    class Meta:
        db_table = "session"
        indexes = [
            models.Index(fields=["last_at"], name="session_last"),
            models.Index(fields=["project", "last_at"], name="session_project"),
            models.Index(fields=["parent"], name="session_parent"),
            models.Index(fields=["replays"], name="session_replays", condition=~models.Q(replays="")),
        ]


class EventContext(models.Model):
    """Where events happened, stored once: most events of a session share it."""

    cwd = models.TextField(default="")
    branch = models.TextField(default="")
    model = models.TextField(default="")
    agent_version = models.TextField(default="")

    class Meta:
        db_table = "event_context"
        constraints = [
            models.UniqueConstraint(fields=["cwd", "branch", "model", "agent_version"], name="event_context_key"),
        ]


class EventFields(models.Model):
    """The columns of an event: append-only, but for those that are derived.

    `session`, `context`, `sub_agent`, `ordinal` and `owner` follow the owner place; `shadowed_by` is the event that
    says the same.
    """

    # An integer is SQLite's own row key; a bigint would be a second one, with an index of its own.
    id = models.IntegerField(primary_key=True)
    event_id = models.TextField(unique=True)
    kind = models.CharField(max_length=11)
    role = models.CharField(max_length=9)
    at = models.CharField(max_length=24)
    inferred = models.BooleanField(default=False)
    sub_agent = models.BooleanField(default=False)
    tool = models.TextField(default="")
    text = models.TextField()
    digest = models.BinaryField(max_length=16, null=True)
    context = models.ForeignKey(EventContext, models.PROTECT, related_name="+")
    raw_file = models.ForeignKey(RawFile, models.PROTECT, related_name="+")
    line = models.BigIntegerField()
    home = models.BooleanField(default=False)
    session = models.ForeignKey(Session, models.PROTECT, related_name="+")
    ordinal = models.BigIntegerField()
    owner = models.BigIntegerField(null=True)
    twin = models.TextField(default="")
    rank = models.SmallIntegerField(default=0)
    shadowed_by = models.BigIntegerField(null=True)

    class Meta:
        abstract = True


class Event(EventFields):
    """One thing that happened, from the first place it was seen in. Reads go through `VisibleEvent`."""

    raw_file = models.ForeignKey(RawFile, models.PROTECT, related_name="+", db_index=False)
    session = models.ForeignKey(Session, models.PROTECT, related_name="+", db_index=False)
    context = models.ForeignKey(EventContext, models.PROTECT, related_name="+", db_index=False)

    class Meta:
        db_table = "event"
        indexes = [
            models.Index(fields=["session", "at", "ordinal"], name="event_session"),
            models.Index(fields=["at"], name="event_at"),
            models.Index(fields=["raw_file", "line"], name="event_place_of"),
            models.Index(fields=["digest"], name="event_digest", condition=models.Q(digest__isnull=False)),
            models.Index(
                fields=["session", "twin", "rank"],
                name="event_twin",
                condition=models.Q(shadowed_by__isnull=True) & ~models.Q(twin=""),
            ),
        ]


class VisibleEvent(EventFields):
    """The events that nothing excludes and no twin hides: what every read sees."""

    class Meta:
        db_table = "visible_event"
        managed = False


class EventPlace(models.Model):
    """A further place of an event: resumed, forked and rewritten files repeat old lines."""

    event = models.ForeignKey(Event, models.PROTECT, related_name="places", db_index=False, db_column="event")
    raw_file = models.ForeignKey(RawFile, models.PROTECT, related_name="+", db_index=False)
    line = models.BigIntegerField()
    home = models.BooleanField(default=False)
    session = models.ForeignKey(Session, models.PROTECT, related_name="+", db_index=False)
    context = models.ForeignKey(EventContext, models.PROTECT, related_name="+", db_index=False)
    sub_agent = models.BooleanField(default=False)
    ordinal = models.BigIntegerField()

    class Meta:
        db_table = "event_place"
        constraints = [models.UniqueConstraint(fields=["event", "raw_file", "line"], name="event_place_key")]
        indexes = [models.Index(fields=["raw_file", "line"], name="event_place_line")]


class EventFile(models.Model):
    """A file that a tool call names, taken before the call's text is cut."""

    event = models.ForeignKey(Event, models.PROTECT, related_name="files", db_index=False, db_column="event")
    path = models.TextField()

    class Meta:
        db_table = "event_file"
        constraints = [models.UniqueConstraint(fields=["event", "path"], name="event_file_key")]
        indexes = [models.Index(fields=["path"], name="event_file_path")]


class EventGram(models.Model):
    """CJK bigrams of a message, so that two-character words are found by an index."""

    event = models.OneToOneField(Event, models.PROTECT, primary_key=True, db_column="id", related_name="+")
    text = models.TextField()

    class Meta:
        db_table = "event_gram"


class SessionTitle(models.Model):
    """A title as a log line gave it, to a session by id or to whichever session owns the record `leaf`."""

    raw_file = models.ForeignKey(RawFile, models.PROTECT, related_name="+")
    line = models.BigIntegerField()
    kind = models.CharField(max_length=12)
    text = models.TextField()
    session_id = models.TextField(default="")
    leaf = models.TextField(default="")
    at = models.CharField(max_length=24, default="")

    class Meta:
        db_table = "session_title"
        constraints = [models.UniqueConstraint(fields=["raw_file", "line", "kind"], name="session_title_place")]
        indexes = [
            models.Index(fields=["session_id"], name="session_title_session"),
            models.Index(fields=["leaf"], name="session_title_leaf"),
        ]


class ExcludedEvent(models.Model):
    """An event id that a live tombstone hides; the event itself may not have arrived yet."""

    event_id = models.TextField()
    tombstone = models.CharField(max_length=24)

    class Meta:
        db_table = "excluded_event"
        constraints = [models.UniqueConstraint(fields=["event_id", "tombstone"], name="excluded_event_key")]
        indexes = [models.Index(fields=["tombstone"], name="excluded_event_tombstone")]


class SyncLog(models.Model):
    """One row per run of sync. `report` is JSON: per source files, events, bytes and malformed lines."""

    started_at = models.CharField(max_length=24)
    ended_at = models.CharField(max_length=24, default="")
    report = models.TextField(default="{}")
    error = models.TextField(default="")

    class Meta:
        db_table = "sync_log"
        indexes = [models.Index(fields=["started_at"], name="sync_log_started")]


class Record(models.Model):
    """One immutable statement of some store, as it was written; `id` is the order in which records arrived here.

    `body` is canonical JSON and kept byte for byte, with fields that this version does not know (definitions).
    """

    origin = models.CharField(max_length=64)
    oseq = models.BigIntegerField()
    hlc_ms = models.BigIntegerField()
    hlc_c = models.BigIntegerField()
    created_at = models.CharField(max_length=24)
    author = models.CharField(max_length=128)
    kind = models.CharField(max_length=16)
    body = models.TextField()
    sha256 = models.CharField(max_length=64)

    class Meta:
        db_table = "record"
        constraints = [models.UniqueConstraint(fields=["origin", "oseq"], name="record_key")]


class Entry(models.Model):
    """One version of an entry, as a record said it; `chain` is the id of the first version.

    `digest` is the text digest of the text. Derived from the set of records and events by `entries.state`: `trust`,
    `superseded`, `lost` (to a concurrent correction), `forgotten` and `ends_at` (when it stops to hold, or empty).
    """

    record = models.OneToOneField(Record, models.PROTECT, related_name="+")
    entry_id = models.CharField(max_length=20, unique=True)
    chain = models.CharField(max_length=20)
    kind = models.CharField(max_length=9)
    text = models.TextField()
    grams = models.TextField(default="")
    confidence = models.SmallIntegerField()
    author = models.CharField(max_length=128)
    project = models.TextField(default="")
    valid_from = models.CharField(max_length=24, default="")
    valid_to = models.CharField(max_length=24, default="")
    recorded_at = models.CharField(max_length=24)
    first_trust = models.CharField(max_length=8)
    imported = models.BooleanField(default=False)
    digest = models.BinaryField(max_length=16)
    trust = models.CharField(max_length=8, default="proposed")
    superseded = models.BooleanField(default=False)
    lost = models.BooleanField(default=False)
    forgotten = models.BooleanField(default=False)
    ends_at = models.CharField(max_length=24, default="")

    class Meta:
        db_table = "entry"
        indexes = [
            models.Index(fields=["chain"], name="entry_chain"),
            models.Index(fields=["recorded_at"], name="entry_recorded"),
            models.Index(fields=["project", "recorded_at"], name="entry_project"),
            models.Index(fields=["digest"], name="entry_digest"),
        ]


class EntrySource(models.Model):
    """An event that a version cites, with the quote that was checked against it, if one was given."""

    entry = models.ForeignKey(Entry, models.PROTECT, related_name="sources", db_index=False)
    position = models.SmallIntegerField()
    event_id = models.TextField()
    quote = models.TextField(default="")

    class Meta:
        db_table = "entry_source"
        constraints = [models.UniqueConstraint(fields=["entry", "position"], name="entry_source_key")]
        indexes = [models.Index(fields=["event_id"], name="entry_source_event")]


class EntrySupersedes(models.Model):
    """A version and one of those that its author saw as current when correcting."""

    entry = models.ForeignKey(Entry, models.PROTECT, related_name="supersedes", db_index=False)
    older = models.CharField(max_length=20)

    class Meta:
        db_table = "entry_supersedes"
        constraints = [models.UniqueConstraint(fields=["entry", "older"], name="entry_supersedes_key")]
        indexes = [models.Index(fields=["older"], name="entry_supersedes_older")]


class Review(models.Model):
    """What the owner decided about one version: accept, dispute or reject."""

    record = models.OneToOneField(Record, models.PROTECT, related_name="+")
    review_id = models.CharField(max_length=20, unique=True)
    entry_id = models.CharField(max_length=20)
    verdict = models.CharField(max_length=8)
    reason = models.TextField(default="")

    class Meta:
        db_table = "review"
        indexes = [models.Index(fields=["entry_id"], name="review_entry")]


class Ending(models.Model):
    """A version stopped to hold at `ends_at`, or holds again where it is empty: a memory file went, or came back."""

    record = models.OneToOneField(Record, models.PROTECT, related_name="+")
    entry_id = models.CharField(max_length=20)
    ends_at = models.CharField(max_length=24, default="")

    class Meta:
        db_table = "ending"
        indexes = [models.Index(fields=["entry_id"], name="ending_entry")]


class Tombstone(models.Model):
    """One forget: what it was aimed at, by whom and why. It is live while no restore names it (`live` is derived)."""

    record = models.OneToOneField(Record, models.PROTECT, related_name="+")
    tombstone_id = models.CharField(max_length=20, unique=True)
    target = models.TextField()
    reason = models.TextField()
    code = models.CharField(max_length=8)
    live = models.BooleanField(default=True)

    class Meta:
        db_table = "tombstone"


class TombstoneEffect(models.Model):
    """One thing a tombstone covers, by its exact id; copies that arrive later are added by records of their own."""

    tombstone = models.CharField(max_length=20)
    kind = models.CharField(max_length=7)
    item = models.TextField()

    class Meta:
        db_table = "tombstone_effect"
        constraints = [models.UniqueConstraint(fields=["tombstone", "kind", "item"], name="tombstone_effect_key")]
        indexes = [models.Index(fields=["kind", "item"], name="tombstone_effect_item")]


class Restore(models.Model):
    """The owner took one tombstone back."""

    record = models.OneToOneField(Record, models.PROTECT, related_name="+")
    tombstone = models.CharField(max_length=20)
    reason = models.TextField()

    class Meta:
        db_table = "restore"
        indexes = [models.Index(fields=["tombstone"], name="restore_tombstone")]


class ForgottenEntry(models.Model):
    """An entry version that a live tombstone names; it may not have arrived yet. Derived, as `ExcludedEvent` is."""

    entry_id = models.CharField(max_length=20)
    tombstone = models.CharField(max_length=20)

    class Meta:
        db_table = "forgotten_entry"
        constraints = [models.UniqueConstraint(fields=["entry_id", "tombstone"], name="forgotten_entry_key")]
        indexes = [models.Index(fields=["tombstone"], name="forgotten_entry_tombstone")]


class ValueDigest(models.Model):
    """A value that may not come back, as an HMAC and never as text; it lives as long as what holds it.

    `holder` is a live tombstone or a rejected entry version. `category` is entry, user or assistant (definitions: value
    digest, class).
    """

    holder = models.CharField(max_length=20)
    category = models.CharField(max_length=9)
    digest = models.BinaryField(max_length=32)
    key_version = models.IntegerField()
    normalise_version = models.IntegerField()

    class Meta:
        db_table = "value_digest"
        constraints = [
            models.UniqueConstraint(fields=["holder", "category", "digest", "key_version"], name="value_digest_key")
        ]
        indexes = [models.Index(fields=["digest"], name="value_digest_digest")]


class ProjectAlias(models.Model):
    """The owner gave the project `name` another name; of several for one name the latest record counts."""

    record = models.OneToOneField(Record, models.PROTECT, related_name="+")
    name = models.TextField()
    target = models.TextField()

    class Meta:
        db_table = "project_alias"
        indexes = [models.Index(fields=["name"], name="project_alias_name")]


class AuditLog(models.Model):
    """One row a mutation, chained by digests. `targets` is a JSON list of ids; there is no text in it."""

    id = models.BigAutoField(primary_key=True)
    at = models.CharField(max_length=24)
    action = models.CharField(max_length=24)
    actor = models.CharField(max_length=8)
    author = models.CharField(max_length=128)
    channel = models.CharField(max_length=8)
    device = models.CharField(max_length=63)
    address = models.CharField(max_length=64, default="")
    client = models.CharField(max_length=200, default="")
    targets = models.TextField()
    code = models.CharField(max_length=24, default="")
    previous = models.CharField(max_length=64)
    hash = models.CharField(max_length=64)

    class Meta:
        db_table = "audit_log"


class ApiToken(models.Model):
    """A key to the hub. Only its SHA-256 is kept; `store` is the one store that used it first, and no other may.

    `scopes` are words separated by spaces, `projects` a JSON list, empty for all. An `unverified` token comes from a
    restored backup: it may have been revoked since, and opens nothing before the owner confirms it.
    """

    name = models.CharField(max_length=63, unique=True)
    digest = models.BinaryField(max_length=32, unique=True)
    scopes = models.CharField(max_length=64)
    projects = models.TextField(default="[]")
    created_at = models.CharField(max_length=24)
    expires_at = models.CharField(max_length=24, default="")
    revoked_at = models.CharField(max_length=24, default="")
    last_used_at = models.CharField(max_length=24, default="")
    last_address = models.CharField(max_length=64, default="")
    store = models.CharField(max_length=36, default="")
    unverified = models.BooleanField(default=False)

    class Meta:
        db_table = "api_token"


class Device(models.Model):
    """A store that has said hello to this hub. `name` is a label; `store` is who it is (spec 7, identity)."""

    store = models.CharField(max_length=36, unique=True)
    incarnation = models.CharField(max_length=16)
    name = models.CharField(max_length=63, unique=True)
    kind = models.CharField(max_length=6, default="device")
    first_seen = models.CharField(max_length=24)
    last_seen = models.CharField(max_length=24)
    skew_ms = models.BigIntegerField(default=0)
    version = models.CharField(max_length=32, default="")

    class Meta:
        db_table = "device"


class Attempt(models.Model):
    """One failed try of a secret; `bucket` says of which and from where. Rows older than any window are removed."""

    bucket = models.CharField(max_length=100)
    at = models.BigIntegerField()

    class Meta:
        db_table = "attempt"
        indexes = [models.Index(fields=["bucket", "at"], name="attempt_bucket")]
