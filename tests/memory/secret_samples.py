"""One made-up secret of each format, put together here so that no file holds one that a scanner could take for real."""

import json
from base64 import urlsafe_b64encode
from collections.abc import Callable
from random import Random
from typing import NamedTuple

from memory.secrets import BASE62, base62_crc32

HEX = "0123456789abcdef"
WORD = BASE62 + "-_"
BASE64 = BASE62 + "+/"


class Sample(NamedTuple):
    """`text` holds the secret, which is all of it unless `secret` says otherwise."""

    kind: str
    text: str
    secret: str = ""

    @property
    def covered(self) -> str:
        """Return the part that must not be seen."""
        return self.secret or self.text


def fill(characters: str, length: int, seed: int = 1) -> str:
    """Return `length` of `characters` that look random and are always the same; the first is a letter or digit."""
    random = Random(f"{characters}{length}{seed}")
    return random.choice(characters.rstrip("-_+/")) + "".join(random.choices(characters, k=length - 1))


def checked(prefix: str, length: int) -> str:
    """Return a token of `length` random digits and the checksum of them."""
    body = fill(BASE62, length)
    return prefix + body + base62_crc32(body)


def encoded(value: dict[str, str]) -> str:
    """Return a JSON object as a part of a token."""
    return urlsafe_b64encode(json.dumps(value, separators=(",", ":")).encode()).decode().rstrip("=")


def jwt(header: dict[str, str], *, parts: int = 3) -> str:
    """Return a token in JOSE's compact form: three parts when signed, five when encrypted."""
    claims = encoded({"sub": "1234567890", "name": "Somebody"})
    return ".".join([encoded(header), claims, *(fill(WORD, 43, seed) for seed in range(parts - 2))])


def key_block(label: str, *, newline: str = "\n", end: bool = True) -> str:
    """Return a private key in PEM's form, or its beginning."""
    lines = [f"-----BEGIN {label}-----", *(fill(BASE64, 64, seed) for seed in range(3))]
    return newline.join([*lines, f"-----END {label}-----"] if end else lines)


def in_url(password: str, user: str = "app") -> str:
    """Return a connection string with `password`."""
    return f"postgres://{user}:{password}@db.internal:5432/prod"


def _tokens(kind: str, characters: str, length: int, *prefixes: str) -> list[Sample]:
    return [Sample(kind, prefix + fill(characters, length)) for prefix in prefixes]


def _assigned(kind: str, secret: str, write: Callable[[str], str]) -> Sample:
    return Sample(kind, write(secret), secret)


_AWS = fill(BASE64, 40)
_AZURE = fill(BASE64, 86) + "=="
_BUS = fill(BASE64, 43) + "="
_PASSWORD = fill(BASE62, 20)

SAMPLES = (
    *(Sample("github-token", checked(f"gh{letter}_", 30)) for letter in "pou"),
    Sample("github-token", checked("ghr_", 70)),
    Sample("github-token", "ghs_" + fill(BASE62, 36)),
    Sample("github-token", "ghs_1234567_" + jwt({"alg": "RS256"})),
    Sample("github-token", "github_pat_" + fill(BASE62, 22) + "_" + fill(BASE62, 59)),
    *_tokens("gitlab-token", WORD, 20, "glpat-", "gldt-", "glrt-", "glft-", "glcbt-", "glsoat-", "glffct-"),
    *_tokens("gitlab-token", HEX, 40, "glptt-"),
    *_tokens("gitlab-token", WORD, 50, "glagent-"),
    Sample("gitlab-token", "glpat-" + fill(WORD, 32) + ".01.0w" + fill("0123456789abcdefghij", 7)),
    *_tokens("anthropic-key", WORD, 95, "sk-ant-api03-", "sk-ant-oat01-", "sk-ant-admin01-"),
    *_tokens("openai-key", WORD, 120, "sk-proj-", "sk-svcacct-", "sk-admin-"),
    Sample("model-key", "sk-" + fill(BASE62, 20) + "T3Blbk" + "FJ" + fill(BASE62, 20)),
    *_tokens("model-key", HEX, 64, "sk-or-v1-"),
    *_tokens("model-key", HEX, 32, "sk-"),
    *_tokens("xai-key", BASE62, 80, "xai-"),
    *_tokens("groq-key", BASE62, 52, "gsk_"),
    *_tokens("perplexity-key", BASE62, 48, "pplx-"),
    *_tokens("nvidia-key", WORD, 64, "nvapi-"),
    *_tokens("huggingface-token", BASE62[10:], 34, "hf_"),
    *_tokens("replicate-token", BASE62, 37, "r8_"),
    *_tokens("cursor-key", HEX, 64, "key_", "crsr_"),
    *_tokens("google-oauth-secret", WORD, 28, "GOCSPX-"),
    *_tokens("stripe-key", BASE62, 24, "sk_live_", "sk_test_", "rk_live_"),
    *_tokens("stripe-key", BASE62, 99, "sk_live_"),
    *_tokens("stripe-webhook-secret", BASE62, 32, "whsec_"),
    Sample("npm-token", checked("npm_", 30)),
    *_tokens("pypi-token", WORD, 120, "pypi-" + "AgEIcHlwaS5vcmc"),
    *_tokens("rubygems-token", HEX, 48, "rubygems_"),
    Sample("slack-token", "xox" + "b-123456789012-123456789012-" + fill(BASE62, 24)),
    Sample("slack-token", "xox" + "p-1234567890-1234567890-1234567890-" + fill(HEX, 32)),
    Sample("slack-token", "xapp" + "-1-A0123456789-1234567890123-" + fill(HEX, 64)),
    *_tokens("digitalocean-token", HEX, 64, "dop_v1_"),
    *_tokens("shopify-token", HEX, 32, "shpat_"),
    *_tokens("linear-key", BASE62, 40, "lin_api_"),
    *_tokens("notion-token", BASE62, 46, "ntn_"),
    *_tokens("supabase-token", HEX, 40, "sbp_"),
    Sample("origin-token", checked("ogn_", 43)),
    *_tokens("aws-access-key-id", "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16, "AKIA", "ASIA"),
    _assigned("aws-secret-key", _AWS, "aws_secret_access_key = {}".format),
    _assigned("aws-secret-key", _AWS, "export AWS_SECRET_ACCESS_KEY='{}'".format),
    _assigned("aws-secret-key", _AWS, lambda key: json.dumps({"SecretAccessKey": key})),
    _assigned("aws-secret-key", _AWS, lambda key: json.dumps(json.dumps({"secretAccessKey": key}))),
    *_tokens("google-api-key", WORD, 35, "AIza"),
    _assigned("azure-key", _AZURE, "AccountName=logs;AccountKey={};EndpointSuffix=core.windows.net".format),
    _assigned("azure-key", _BUS, "SharedAccessKeyName=root;SharedAccessKey={}".format),
    Sample("sendgrid-key", "SG." + fill(WORD, 22) + "." + fill(WORD, 43)),
    *_tokens("twilio-key", HEX, 32, "SK"),
    *_tokens("telegram-bot-token", WORD, 33, "123456789" + ":AA"),
    Sample("jwt", jwt({"alg": "HS256", "typ": "JWT"})),
    Sample("jwt", jwt({"alg": "RSA-OAEP", "enc": "A256GCM"}, parts=5)),
    *(
        Sample("private-key", key_block(f"{label}PRIVATE KEY"))
        for label in ("", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED ")
    ),
    Sample("private-key", key_block("PGP PRIVATE KEY BLOCK")),
    Sample("private-key", key_block("PRIVATE KEY", newline="\\n")),
    _assigned("url-password", _PASSWORD, in_url),
)
