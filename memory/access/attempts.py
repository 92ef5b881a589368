"""How often a wrong secret may be tried: a sliding window in the store, shared by processes and kept over restarts."""

import ipaddress
import time

from django.db import transaction

from memory.models import Attempt

# Nothing looks further back.
_KEPT_MS = 60 * 60 * 1000


def wait_ms(bucket: str, *, most: int, window_ms: int) -> int:
    """Return how long to wait before another try, 0 where there were fewer than `most` in the window."""
    current = _now()
    since = current - window_ms
    tried = list(
        Attempt.objects.filter(bucket=bucket, at__gt=since).order_by("-at").values_list("at", flat=True)[:most]
    )
    return tried[-1] + window_ms - current if len(tried) >= most else 0


def record(bucket: str) -> int:
    """Keep one try; returns how many the bucket holds now. Old ones of every bucket go."""
    with transaction.atomic():
        Attempt.objects.create(bucket=bucket, at=_now())
        Attempt.objects.filter(at__lt=_now() - _KEPT_MS).delete()
        return Attempt.objects.filter(bucket=bucket).count()


def refund(bucket: str) -> None:
    """Take the newest try back: it succeeded."""
    Attempt.objects.filter(id__in=Attempt.objects.filter(bucket=bucket).order_by("-id").values("id")[:1]).delete()


def client_bucket(kind: str, address: str) -> str:
    """Return the bucket of one client; an IPv6 network is one client (lab-security B 8)."""
    return f"{kind}:{_network(address)}"


def _network(address: str) -> str:
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return "unknown"
    if parsed.version == 6 and parsed.ipv4_mapped is None:
        return str(ipaddress.ip_network((parsed, 64), strict=False))
    return str(parsed)


def _now() -> int:
    return time.time_ns() // 1_000_000
