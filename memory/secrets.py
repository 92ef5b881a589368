"""Live keys in logs: a table of anchored formats, and the mask that stands for each in whatever Origin shows."""

import json
import re
import zlib
from base64 import urlsafe_b64decode
from collections.abc import Callable, Iterator
from typing import NamedTuple

Span = tuple[int, int]
Read = Callable[[re.Match[str]], Span | None]

BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

# What a mask starts with: no pattern below may match inside one, so that masking comes to an end.
MASK = "[secret:"
# A secret shorter than this shows none of itself: four of eight characters would be half of it.
_SHOWN_FROM = 16


class Finding(NamedTuple):
    """One secret in a text, by kind and by the code points it covers."""

    kind: str
    start: int
    end: int


class Rule(NamedTuple):
    """One format. `read` says what of a match is the secret, or None where a check shows that it is none."""

    kind: str
    pattern: re.Pattern[str]
    read: Read


def mask(text: str) -> str:
    """Return `text` with each secret replaced by `[secret:<kind> …last4]`, a key block by `[secret:private-key]`.

    Never shows more than the last four characters of a secret, nor any of one under 16; masking twice changes nothing.
    """
    # More than once, since a mask may part a token from a word that it hung on to, and so uncover it.
    while findings := find(text):
        text = _masked(text, findings)
    return text


def _masked(text: str, findings: list[Finding]) -> str:
    pieces: list[str] = []
    at = 0
    for finding in findings:
        pieces += text[at : finding.start], _mask_of(text, finding)
        at = finding.end
    return "".join(pieces) + text[at:]


def _mask_of(text: str, finding: Finding) -> str:
    if finding.kind == "private-key" or finding.end - finding.start < _SHOWN_FROM:
        return f"{MASK}{finding.kind}]"
    return f"{MASK}{finding.kind} \u2026{text[finding.end - 4 : finding.end]}]"


def find(text: str) -> list[Finding]:
    """Return the secrets in `text` from left to right, none overlapping.

    Where two overlap, the leftmost, then the longest, then the first in the table names the kind; the finding reaches
    to the end of both, for the tail of the other is a secret too.
    """
    return _found(text) if _may_hold_secret(text) else []


def _found(text: str) -> list[Finding]:
    every = [finding for rule in RULES for finding in _matches(rule, text)]
    every.sort(key=lambda finding: (finding.start, -finding.end))
    merged: list[Finding] = []
    for finding in every:
        if merged and finding.start < merged[-1].end:
            merged[-1] = merged[-1]._replace(end=max(merged[-1].end, finding.end))
        else:
            merged.append(finding)
    return merged


def _matches(rule: Rule, text: str) -> Iterator[Finding]:
    match = rule.pattern.search(text)
    while match:
        span = rule.read(match)
        if span:
            yield Finding(rule.kind, *span)
        match = rule.pattern.search(text, span[1] if span else match.start() + 1)


def base62_crc32(text: str) -> str:
    """Return the checksum that GitHub, npm and Origin append to a token: CRC-32 of its ASCII in six base62 digits.

    Most significant digit first, padded with 0, alphabet 0-9A-Za-z (GitHub's "new authentication token formats", 2021;
    an `ogn_` token is 43 random digits and this checksum of them).
    """
    number, digits = zlib.crc32(text.encode()), ""
    for _ in range(6):
        number, digit = divmod(number, 62)
        digits = BASE62[digit] + digits
    return digits


# How a match is read.


def _all(match: re.Match[str]) -> Span | None:
    return match.span()


def _value(match: re.Match[str]) -> Span | None:
    return match.span(1)


def _with_checksum(match: re.Match[str]) -> Span | None:
    body = match[0].partition("_")[2]
    return match.span() if base62_crc32(body[:-6]) == body[-6:] else None


def _aws_key_id(match: re.Match[str]) -> Span | None:
    return None if match[0].endswith("EXAMPLE") else match.span()


def _aws_secret(match: re.Match[str]) -> Span | None:
    # Forty characters in one case are a Git commit.
    real = "EXAMPLE" not in match[1] and match[1] not in (match[1].lower(), match[1].upper())
    return match.span(1) if real else None


def _telegram(match: re.Match[str]) -> Span | None:
    number = _BOT_NUMBER.search(match.string, max(match.start() - 13, 0), match.start())
    return (number.start(1), match.end()) if number else None


def _jwt(match: re.Match[str]) -> Span | None:
    encoded = match[0].partition(".")[0]
    try:
        header = json.loads(urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)))
    except (ValueError, RecursionError):
        return None
    return match.span() if isinstance(header, dict) and isinstance(header.get("alg"), str) else None


def _key_block(match: re.Match[str]) -> Span | None:
    if not _KEY_BODY.match(match.string, match.end()):
        return None  # source code that speaks of the header
    end = _KEY_END.search(match.string, match.end())
    return match.start(), end.end() if end else len(match.string)


def _password(match: re.Match[str]) -> Span | None:
    user, password = match[1], match[2]
    return None if password == user or _PLACEHOLDER.fullmatch(password) else match.span(2)


_WORD, _DIGITS, _HEX = "0-9A-Za-z_-", "0-9A-Za-z", "0-9a-f"
# After the header come line breaks, escaped ones too, and what editors and diffs put before a line; then a header of
# PEM or PGP, or key material: a long run, or a short one that ends its line.
_KEY_BODY = re.compile(
    r"(?:\\[nrtu]|[^A-Za-z/=]){0,80}+"
    r"(?:(?:Proc-Type|DEK-Info|Version|Comment|Charset|Hash|MessageID|Subject): |[0-9A-Za-z+/=]{32}"
    r"|[0-9A-Za-z+/=]{6,31}+(?=[\"']?(?:\\[nr]|[\r\n]|-----END|\Z)))"
)
_KEY_END = re.compile(r"-----END [0-9A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_PLACEHOLDER = re.compile(
    r"\$\{[^}]{0,250}\}|\$[A-Z_][0-9A-Z_]{0,250}|\$pass(?:word)?|\{[^}]{0,250}\}|%s|%\([a-z_]{1,250}\)s"
    r"|[*.xX\u2022\u2026]{3,256}|(?i:(?:your[-_]?)?(?:pass|passwd|password|pwd|secret|token|x-oauth-basic))"
)


# The table. Every pattern begins with a literal, by which the engine finds its places. A token may start only where no
# word character stands before it, and its run of word characters is taken whole (possessive): so each character is
# looked at a bounded number of times, however the text was made.


def _start(prefix: str) -> str:
    """Return the assertion, for after `prefix`, that no word character stood before it.

    What an escape ends in is no word: the n of `\\n` in JSON, the digits of `%3D` and `\\u0022`, the m of a colour.
    """
    return (
        rf"(?:(?<![{_WORD}]{prefix})|(?<=\\[bfnrt]{prefix})|(?<=(?:%[0-9A-Fa-f]{{2}}|[\[;][0-9]m){prefix})"
        rf"|(?<=[\[;][0-9]{{2}}m{prefix})|(?<=\\u00[0-9a-f]{{2}}{prefix}))"
    )


_BOT_NUMBER = re.compile(rf"(?:{_start('')}|(?<=bot))([0-9]{{8,10}})\Z")


def _run(characters: str, low: int, high: int = 0) -> str:
    """Return the pattern of a whole run of `low` to `high` of `characters` with no letter or digit after it."""
    return f"[{characters}]{{{low},{high or low}}}+(?![0-9A-Za-z{characters}])"


def _token(kind: str, prefix: str, body: str, read: Read = _all) -> Rule:
    return Rule(kind, re.compile(prefix + _start(prefix) + body), read)


_ROUTE = r"(?:\.[0-9]{2}\.?[0-9a-z]{7,9}(?![0-9A-Za-z]))?"

# (kind, prefix, body, read). The prefix has one width and ends in the mark by which texts are sifted (_SIEVE): after
# `_` at least twenty letters or digits must follow, after `-` at least twenty of _WORD.
_TOKENS: tuple[tuple[str, str, str, Read], ...] = (
    ("github-token", "gh[opru]_", _run(_DIGITS, 36, 250), _with_checksum),
    # Not checked: installation tokens that have been seen in public do not carry their siblings' checksum.
    ("github-token", "ghs_", _run(_DIGITS, 36), _all),
    ("github-token", "github_pat_", "[0-9A-Za-z]{22}_" + _run(_DIGITS, 59), _all),
    ("gitlab-token", "gl[dfr]t-", _run(_WORD, 20, 300) + _ROUTE, _all),
    ("gitlab-token", "gl(?:pat|cbt|ptt|imt|oas)-", _run(_WORD, 20, 300) + _ROUTE, _all),
    ("gitlab-token", "gl(?:soat|ffct)-", _run(_WORD, 20, 300), _all),
    ("gitlab-token", "glagent-", _run(_WORD, 50, 1024), _all),
    ("anthropic-key", "sk-ant-", _run(_WORD, 32, 512), _all),
    ("openai-key", "sk-", "(?:proj|svcacct|admin|None)-" + _run(_WORD, 32, 512), _all),
    ("model-key", "sk-", "(?:or-v1-)?" + _run(_DIGITS, 32, 128), _all),
    ("xai-key", "xai-", _run(_DIGITS, 80), _all),
    ("groq-key", "gsk_", _run(_DIGITS, 52), _all),
    ("perplexity-key", "pplx-", _run(_DIGITS, 48), _all),
    ("nvidia-key", "nvapi-", _run(_WORD, 64), _all),
    ("huggingface-token", "hf_", _run("A-Za-z", 34), _all),
    ("replicate-token", "r8_", _run(_DIGITS, 37), _all),
    ("cursor-key", "key_", _run(_HEX, 64), _all),
    ("cursor-key", "crsr_", _run(_HEX, 64), _all),
    ("google-oauth-secret", "GOCSPX-", _run(_WORD, 28), _all),
    ("stripe-key", "sk_(?:live|test)_", _run(_DIGITS, 20, 250), _all),
    ("stripe-key", "rk_(?:live|test)_", _run(_DIGITS, 20, 250), _all),
    ("stripe-webhook-secret", "whsec_", _run(_DIGITS, 32, 64), _all),
    ("npm-token", "npm_", _run(_DIGITS, 36), _with_checksum),
    ("pypi-token", "pypi-", "AgE[IN]" + _run(_WORD, 50, 1024), _all),
    ("rubygems-token", "rubygems_", _run(_HEX, 48), _all),
    ("slack-token", "xox[abceoprs]-", "[0-9]" + _run("0-9A-Za-z-", 19, 250), _all),
    ("slack-token", "xapp-", "[0-9]-" + _run("0-9A-Za-z-", 30, 250), _all),
    ("digitalocean-token", "do[opr]_v1_", _run(_HEX, 64), _all),
    ("shopify-token", "shp(?:at|ca|pa|ss)_", _run("0-9A-Fa-f", 32), _all),
    ("linear-key", "lin_api_", _run(_DIGITS, 40), _all),
    ("notion-token", "ntn_", _run(_DIGITS, 40, 60), _all),
    ("supabase-token", "sbp_", _run(_HEX, 40), _all),
    ("origin-token", "ogn_", _run(_DIGITS, 49), _with_checksum),
)

_ASSIGNED = r"[\\\"'`\s]{0,8}+[=:>,]{1,2}+[\\\"'`\s]{0,8}+"
_AWS_SECRET = _ASSIGNED + r"((?:[0-9A-Za-z/+]|\\/){40}+)(?![0-9A-Za-z/+=])"
_SIGNED = rf"\.[{_WORD}]{{0,65536}}+\.[{_WORD}]{{16,65536}}+(?![{_WORD}])"
_ENCRYPTED = rf"(?:\.[{_WORD}]{{1,65536}}+\.[{_WORD}]{{16,64}}+(?![{_WORD}]))?"
_IN_URL = rf"(?:(?!{re.escape(MASK)})[^\s/?#\"'<>\\`"
# Some JSON is written with `\\/` for every slash, and lies within the text of a result as it is.
_URL = re.compile(rf":(?://|\\/\\/)({_IN_URL}:@]){{0,128}}+):({_IN_URL}]){{3,256}})@(?!sha256:)(?=\S)")

RULES: tuple[Rule, ...] = (
    *(_token(*row) for row in _TOKENS),
    _token("github-token", "ghs_", rf"[0-9]{{1,20}}_eyJ[{_WORD}]{{10,8192}}+{_SIGNED}"),
    _token("aws-access-key-id", "A[KS]IA", _run("0-9A-Z", 16), _aws_key_id),
    Rule("aws-secret-key", re.compile("ecret_access_key" + _AWS_SECRET), _aws_secret),
    Rule("aws-secret-key", re.compile("ecretAccessKey" + _AWS_SECRET), _aws_secret),
    Rule("aws-secret-key", re.compile("SECRET_ACCESS_KEY" + _AWS_SECRET), _aws_secret),
    _token("google-api-key", "AIza", _run(_WORD, 35)),
    Rule("azure-key", re.compile("Acc(?:ount|ess)Key=([0-9A-Za-z/+]{43,86}+={1,2}+)"), _value),
    _token("sendgrid-key", r"SG\.", rf"[{_WORD}]{{22}}\." + _run(_WORD, 43)),
    _token("twilio-key", "SK", _run(_HEX, 32)),
    Rule("telegram-bot-token", re.compile(":AA(?<=[0-9]:AA)" + _run(_WORD, 33)), _telegram),
    _token("jwt", "eyJ", rf"[{_WORD}]{{10,8192}}+{_SIGNED}{_ENCRYPTED}", _jwt),
    Rule("private-key", re.compile("-----BEGIN [0-9A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----"), _key_block),
    Rule("url-password", _URL, _password),
)


# The sieve. Nearly every text holds no secret, and forty searches of each would cost more than storing it. Each pass
# jumps from one rare character to the next by memory search, then looks around it for what some rule must have there.


def _after(mark: str) -> str:
    prefixes = dict.fromkeys(prefix for _, prefix, _, _ in _TOKENS if prefix.endswith(mark))
    return "(?:" + "|".join(f"(?<={prefix})" for prefix in prefixes) + ")"


_SIEVE = (
    re.compile(rf"_(?=[0-9A-Za-z]{{20}}){_after('_')}"),
    re.compile(rf"-(?:(?!----)(?=[{_WORD}]{{20}}){_after('-')}|----BEGIN [0-9A-Z ]{{0,40}}PRIVATE KEY)"),
    re.compile(rf"A(?:[KS]IA[0-9A-Z]{{16}}|Iza[{_WORD}]{{35}}|A(?<=[0-9]:AA)[{_WORD}]{{33}})"),
    re.compile(r"K(?:ey(?:(?<=AccountKey)|(?<=AccessKey))|EY(?<=ACCESS_KEY)|[0-9a-f]{32}(?<=SK.{32}))"),
    re.compile(rf"G\.(?<=SG\.)[{_WORD}]{{22}}\."),
    re.compile(rf"J(?<=eyJ)[{_WORD}]{{10}}"),
)
_BY_UNDERSCORE, _BY_HYPHEN, _BY_A, _BY_K, _BY_G, _BY_J = (sieve.search for sieve in _SIEVE)


def _may_hold_secret(text: str) -> bool:
    return (
        _BY_UNDERSCORE(text) is not None
        or _BY_HYPHEN(text) is not None
        or _BY_A(text) is not None
        or _BY_K(text) is not None
        or _BY_G(text) is not None
        or _BY_J(text) is not None
        or "cret_access_key" in text
        or ("@" in text and _URL.search(text) is not None)
    )
