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
ALLOWED_HOSTS = ["127.0.0.1", "localhost", "[::1]"]

INSTALLED_APPS = ["memory", "ingest", "replication", "admin_ui"]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
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

SECURE_HSTS_SECONDS = 31_536_000
SECURE_HSTS_INCLUDE_SUBDOMAINS = True
SECURE_HSTS_PRELOAD = True
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_SSL_REDIRECT = True
SESSION_COOKIE_SECURE = True
CSRF_COOKIE_SECURE = True
X_FRAME_OPTIONS = "DENY"
