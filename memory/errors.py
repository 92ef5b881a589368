"""Every error Origin raises on purpose; the message is a sentence its reader can act on."""


class OriginError(Exception):
    """The root: each interface translates this once."""


class InvalidInput(OriginError):
    """A value the caller gave cannot be used."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


class NotFound(OriginError):
    """Unknown, forgotten and out of scope alike: the message never says which."""


class Conflict(OriginError):
    """The caller's picture of the store is out of date; `current` is what holds now."""

    def __init__(self, message: str, current: object = None) -> None:
        super().__init__(message)
        self.current = current


class Denied(OriginError):
    """The caller may not do this."""


class Refused(OriginError):
    """A tombstone covers this value."""


class HubUnavailable(OriginError):
    """The hub did not answer."""


class MalformedLine(Exception):
    """A line a parser cannot use. The archive counts it under `reason`; it never leaves the archive."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
