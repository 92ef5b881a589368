"""What a hub says, as JSON: an answer, or why there is none."""

from django.http import HttpResponse
from msgspec import json


def answer(value: dict[str, object], status: int = 200) -> HttpResponse:
    """Return a JSON answer."""
    return HttpResponse(json.encode(value), content_type="application/json", status=status)


def refusal(status: int, error: str, message: str, **headers: str) -> HttpResponse:
    """Return why a request is not answered: a word for programs and a sentence for people."""
    response = answer({"error": error, "message": message}, status)
    for name, value in headers.items():
        response[name.replace("_", "-")] = value
    return response
