"""Settings of the one Django project; the few things an owner can change are `ORIGIN_*` variables."""

import os
import secrets
from pathlib import Path
from typing import Any

BASE_DIR = Path(__file__).resolve().parent.parent

ORIGIN_HOME = Path(os.environ.get("ORIGIN_HOME") or Path.home() / ".origin").expanduser().absolute()

DEBUG = False
# Nothing is signed yet, so a key that lives as long as the process is enough.
SECRET_KEY = secrets.token_urlsafe(50)
# `Gate` has compared the host, port and all, with those of ORIGIN_HOSTS before Django asks.
ALLOWED_HOSTS = ["127.0.0.1", "localhost", "[::1]"]

INSTALLED_APPS = ["memory", "ingest", "replication", "admin_ui"]
# The gate sets every header of an answer and compares hosts exactly; Django's own would do half of either.
MIDDLEWARE = ["replication.hub.middleware.Gate"]
SILENCED_SYSTEM_CHECKS = [
    "security.W001",  # SecurityMiddleware: replication.hub.middleware.Gate does its work
    "security.W002",  # XFrameOptionsMiddleware: likewise
    "security.W003",  # CsrfViewMiddleware: no page takes a form yet, and tokens are never sent by a browser itself
]
ROOT_URLCONF = "origin_site.urls"
WSGI_APPLICATION = "origin_site.wsgi.application"
TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        # In the wheel the templates lie inside this package, in a checkout beside it.
        "DIRS": [BASE_DIR / "origin_site" / "templates", BASE_DIR / "templates"],
    }
]

# page_size must come before the first table; recursive_triggers makes REPLACE fire the append-only triggers.
SQLITE_PRAGMAS = """
    PRAGMA page_size=8192;
    PRAGMA journal_mode=WAL;
    PRAGMA synchronous=NORMAL;
    PRAGMA recursive_triggers=ON;
    PRAGMA cache_size=-32000;
    PRAGMA temp_store=MEMORY;
    PRAGMA journal_size_limit=67108864;
"""
DATABASES: dict[str, dict[str, Any]] = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": ORIGIN_HOME / "origin.db",
        "ATOMIC_REQUESTS": False,
        "OPTIONS": {"transaction_mode": "IMMEDIATE", "timeout": 30, "init_command": SQLITE_PRAGMAS},
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Times are stored as UTC text and shown in the caller's zone; Django must not change the process's own zone.
USE_TZ = False
TIME_ZONE = None
USE_I18N = False

LOGGING_CONFIG = None

# Set by `serve` and `runserver` for the address they listen on and the one the owner's proxy has.
ORIGIN_PUBLIC_URL = ""
ORIGIN_HOSTS: set[str] = set()
ORIGIN_ORIGINS: set[str] = set()
# Who may say in which header where a client is; nobody by default.
ORIGIN_CLIENT_IP_HEADER = os.environ.get("ORIGIN_CLIENT_IP_HEADER", "")
ORIGIN_TRUSTED_PROXIES = [part for part in os.environ.get("ORIGIN_TRUSTED_PROXIES", "127.0.0.1,::1").split(",") if part]
# The gate measures a body before it is read, by what its address takes.
DATA_UPLOAD_MAX_MEMORY_SIZE = None
APPEND_SLASH = False
