"""What every request meets before any view: the right host, a body of a size and kind that is sent, and headers back.

It is the outermost layer, so that errors of Django's own pass it too (lab-security F).
"""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from replication.hub import limits
from replication.hub.answers import refusal

API = ("/v1/", "/mcp", "/healthz")
_MOST_COMPRESSED = 2 * limits.MEBIBYTE
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
    "Cache-Control": "no-store, private",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "X-Robots-Tag": "noindex",
}


class Gate:
    """Refuses what no client sends on purpose, and marks every answer as nothing for a browser to show or keep."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer a request."""
        response = _refused(request) or self._get_response(request)
        for name, value in _HEADERS.items():
            response.headers.setdefault(name, value)
        if settings.ORIGIN_PUBLIC_URL.startswith("https://"):
            response.headers["Strict-Transport-Security"] = "max-age=31536000"
        return response


def _refused(request: HttpRequest) -> HttpResponse | None:
    host = request.META.get("HTTP_HOST", "")
    if not is_ours(host):
        return refusal(
            421, "host", f"This hub is not called {host[:200]}; start it with --public-url https://{host[:200]}"
        )
    if not request.path.startswith(API):
        return None
    if "token" in request.GET:
        return refusal(400, "invalid", "A token never stands in an address; send it as Authorization: Bearer.")
    return _refused_body(request) if request.method == "POST" else None


def is_ours(host: str) -> bool:
    """True for a Host header that names this hub exactly, port and all (lab-security L 54)."""
    return host.lower() in settings.ORIGIN_HOSTS


def _refused_body(request: HttpRequest) -> HttpResponse | None:
    length = request.META.get("CONTENT_LENGTH") or ""
    if not length.isascii() or not length.isdigit():
        return refusal(411, "length", "A request says how long it is: Content-Length.")
    long_line = limits.LONG_LINE_HEADER in request.headers
    if int(length) > (limits.most_bytes(long_line=True) if long_line else _MOST_COMPRESSED):
        return refusal(413, "too_large", "The body is larger than this hub takes.")
    if request.content_type != "application/json":
        return refusal(415, "type", "The body must be application/json.")
    return None
