"""Single facts about this store, such as its uuid, by name."""

from memory.models import Setting


def kept(key: str, default: str = "") -> str:
    """Return one fact, or `default` where it is not known."""
    return Setting.objects.filter(key=key).values_list("value", flat=True).first() or default


def keep(key: str, value: str) -> None:
    """Keep one fact, in the place of what was kept before."""
    Setting.objects.update_or_create(key=key, defaults={"value": value})
