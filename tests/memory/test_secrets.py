"""No live key is ever shown, and nothing else is taken for one."""

import importlib
import json
import re
import uuid
from hashlib import sha1
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory import secrets
from memory.secrets import BASE62, Finding, Rule, base62_crc32, find, mask
from tests.memory.secret_samples import BASE64, SAMPLES, WORD, Sample, checked, fill, in_url, jwt, key_block

# A pattern whose time grows with the square of the length would never come to the end of this.
LONG = 250_000

each_sample = pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: f"{sample.kind}:{sample.text[:12]}")
each_rule = pytest.mark.parametrize("rule", secrets.RULES, ids=lambda rule: f"{rule.kind}:{rule.pattern.pattern[:12]}")

# What secrets are found between: words, escapes, colours, masks, and pieces of the formats themselves.
FRAGMENTS = st.sampled_from(
    [
        *(
            "",
            " ",
            "\n",
            "\\n",
            "\\\\n",
            '"',
            "'",
            "=",
            ":",
            "@",
            "/",
            "://",
            "://u:",
            "@h",
            "_",
            "-",
            "--",
            ".",
            "A",
            "9",
        ),
        *(
            "%3D",
            "\\u0022",
            "\x1b[32m",
            "\x1b[1;31m",
            "[",
            "]",
            "\u2026",
            "数据",
            "[secret:jwt \u2026abcd]",
            "[secret:",
        ),
        *("sk-", "ghp_", "eyJ", "AKIA", "bot", "12345678", "-----BEGIN PRIVATE KEY-----", "AccountKey="),
    ]
)
# What a secret stands between.
SURROUNDINGS = [
    ("", ""),
    ("token: ", "."),
    ('{"key":"', '"}'),
    ("key='", "' # prod"),
    ("`", "`"),
    ("\\n", "\\n"),
    ("a=1%26key%3D", "%26b=2"),
    ("\x1b[32m", "\x1b[0m"),
    ("\x1b[1;33m", "\x1b[0m"),
    ('\\"', '\\",'),
    ("\\u0022", "\\u0022"),
    ("密钥是", "，请轮换"),
    ("(", ")"),
    ("\n+", "\n-"),
]
SECRETS = st.sampled_from([sample.text for sample in SAMPLES])
LOGS = st.lists(st.one_of(FRAGMENTS, SECRETS, st.text(max_size=6)), max_size=8).map("".join)


@each_sample
def test_each_format_is_found_by_its_kind_and_to_its_edges(sample: Sample) -> None:
    start = sample.text.index(sample.covered)
    assert find(sample.text) == [Finding(sample.kind, start, start + len(sample.covered))]


@each_rule
def test_every_rule_of_the_table_has_a_sample(rule: Rule) -> None:
    found = [
        sample for sample in SAMPLES for finding in secrets._matches(rule, sample.text) if finding.kind == sample.kind
    ]
    assert found


@each_sample
def test_a_secret_is_hidden_whatever_it_stands_in(sample: Sample) -> None:
    for before, after in SURROUNDINGS:
        masked = mask(f"first {before}{sample.text}{after} last")
        assert sample.covered not in masked
        assert f"[secret:{sample.kind}" in masked
        assert masked.startswith("first ")
        assert masked.endswith(f"{after} last")


@each_sample
def test_a_mask_names_the_kind_and_shows_at_most_four_characters(sample: Sample) -> None:
    shown = "" if sample.kind == "private-key" else f" \u2026{sample.covered[-4:]}"
    assert mask(sample.text) == sample.text.replace(sample.covered, f"[secret:{sample.kind}{shown}]")


def test_a_key_block_and_a_short_password_show_nothing_of_themselves() -> None:
    assert mask("a\n" + key_block("RSA PRIVATE KEY") + "\nb") == "a\n[secret:private-key]\nb"
    assert mask(in_url("hunter2!")) == in_url("[secret:url-password]")
    assert mask(in_url(long := fill(BASE62, 16))) == in_url(f"[secret:url-password \u2026{long[-4:]}]")


@given(LOGS)
def test_masking_twice_is_masking_once(text: str) -> None:
    masked = mask(text)
    assert mask(masked) == masked
    assert find(masked) == []


@given(LOGS)
def test_a_mask_changes_nothing_but_the_secrets(text: str) -> None:
    findings, kept, at = find(text), [], 0
    for finding in findings:
        assert at <= finding.start < finding.end
        kept.append(re.escape(text[at : finding.start]))
        at = finding.end
    once = secrets._masked(text, findings)
    assert re.fullmatch(r"\[secret:[a-z0-9-]+(?: \u2026.{4})?\]".join([*kept, re.escape(text[at:])]), once, re.DOTALL)
    assert mask(text) == mask(once)


@given(LOGS)
def test_the_sieve_passes_every_text_that_holds_a_secret(text: str) -> None:
    assert find(text) == secrets._found(text)


@given(st.text())
def test_any_text_can_be_masked(text: str) -> None:
    assert find(mask(text)) == []


@given(st.sampled_from(["glpat-", "glrt-", "sk-ant-api03-", "sk-proj-"]), st.text(WORD, min_size=40, max_size=90))
def test_a_random_part_may_hold_hyphens_and_underscores_anywhere(prefix: str, body: str) -> None:
    if not body.startswith("----"):
        assert [finding.end for finding in find(prefix + body)] == [len(prefix + body)]


@given(st.text(BASE62, min_size=30, max_size=30), st.integers(0, 35), st.sampled_from(BASE62))
def test_a_checksum_tells_a_token_from_a_string_that_looks_like_one(body: str, at: int, other: str) -> None:
    right = body + base62_crc32(body)
    wrong = right[:at] + other + right[at + 1 :]
    for prefix in ("ghp_", "gho_", "ghu_", "npm_"):
        assert find(prefix + right)
        assert bool(find(prefix + wrong)) == (right == wrong)


def test_the_checksum_is_the_one_that_github_published() -> None:
    assert base62_crc32("zQWBuTSOoRi4A9spHcVY5ncn" + "sDkxkJ") == "0mLq17"
    assert base62_crc32("hello") == "0zNvy2"


def test_origin_s_own_tokens_are_checked_too() -> None:
    token = checked("ogn_", 43)
    assert len(token) == 53
    assert find(token)
    assert not find(token[:-1] + ("0" if token[-1] != "0" else "1"))


@pytest.mark.parametrize(
    "text",
    [
        "sk-ant-...",
        "sk-ant-api03-...",
        "export OPENAI_API_KEY=sk-...",
        "ghp_" + "x" * 36,
        "xoxb-your-token-here",
        "AKIA" + "IOSFODNN7" + "EXAMPLE",
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "EXAMPLEKEY",
        "AWS_SECRET_ACCESS_KEY=" + "0123456789abcdef0123456789abcdef01234567",
        "https://user:password@example.com",
        "postgresql://postgres:postgres@localhost:5432/app",
        "postgres://${USER}:${PASSWORD}@${HOST}/db",
        "postgres://$USER:$PASSWORD@host/db",
        'f"postgres://{user}:{quote(password)}@{host}/db"',
        "mysql://%(user)s:%(password)s@host/db",
        "redis://:***@cache:6379",
        "https://token:x-oauth-basic@github.com/a/b",
        "http://localhost:8080/path@v2?x=a:b@c",
        "https://fonts.example/css2?family=Inter:wght@400",
        "ssh://git@host:22/repo and git@github.com:owner/repo",
        "docker://alpine:3.18@sha256:" + sha1(b"x").hexdigest(),
        str(uuid.UUID(int=0x1234567890ABCDEF1234567890ABCDEF)),
        "commit " + sha1(b"origin").hexdigest(),
        "sha256:" + "0f" * 32,
        "data:image/png;base64," + fill(BASE64, 400),
        "ask-questions-before-you-change-the-architecture-of-everything",
        "risk-assessment-framework-for-distributed-systems-2026",
        "class=sk-folding-cube-with-a-very-long-name-indeed",
        "def test_npm_install_fails_when_the_registry_is_unreachable(): ...",
        "hf_hub_download(repo_id=model, filename=weights)",
        'if "-----BEGIN PRIVATE KEY-----" in text and "-----END PRIVATE KEY-----" in text:',
        "PEM = '-----BEGIN RSA PRIVATE KEY-----'\nHEADERS = {PEM: load}",
        'START = "-----BEGIN PRIVATE KEY-----"  # Note: PKCS #8\nload_pem_private_key(START)',
        "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
        "-----BEGIN CERTIFICATE-----\n" + fill(BASE64, 64) + "\n-----END CERTIFICATE-----",
        "-----BEGIN PUBLIC KEY-----\n" + fill(BASE64, 64) + "\n-----END PUBLIC KEY-----",
        "eyJhbGci.not.a-token-at-all-because-it-has-no-header",
        jwt({"typ": "no algorithm"}),
        "12:30:45 AAPL 12345678:AA short",
        "| " + "-" * 200 + " |",
        "_" * 200,
    ],
)
def test_what_only_looks_like_a_secret_is_left_alone(text: str) -> None:
    assert find(text) == []
    assert mask(text) == text


def test_a_token_inside_a_longer_word_is_no_token() -> None:
    token = checked("ghp_", 30)
    assert find("x" + token) == []
    assert find(token + "x") == []


def test_a_token_used_as_a_password_is_one_finding_of_the_more_telling_kind() -> None:
    token = "ghs_" + fill(BASE62, 36)
    text = f"git clone https://x-access-token:{token}@github.com/owner/repo"
    assert (
        mask(text) == f"git clone https://x-access-token:[secret:github-token \u2026{token[-4:]}]@github.com/owner/repo"
    )


def test_secrets_that_overlap_are_hidden_to_the_end_of_both() -> None:
    token = checked("ghp_", 30)
    text = in_url(f"{token}!{fill(BASE62, 12)}")
    [finding] = find(text)
    assert finding.kind == "url-password"
    assert text[finding.end] == "@"


def test_a_password_with_an_at_sign_is_hidden_whole() -> None:
    assert mask(in_url("p@ss/word")) == in_url("p@ss/word")  # no URL at all: a slash ends the authority
    assert mask(in_url("p@ss@word")) == in_url("[secret:url-password]")


def test_a_url_keeps_its_user_and_host() -> None:
    assert mask(in_url("correct-horse-battery")) == in_url("[secret:url-password \u2026tery]")


def test_a_token_that_hangs_on_to_a_key_is_hidden_with_it() -> None:
    token, key = checked("ghp_", 30), key_block("PRIVATE KEY")
    masked = f"[secret:github-token \u2026{token[-4:]}]"
    assert mask(key + token) == "[secret:private-key]" + masked
    assert mask(token + key) == masked + "[secret:private-key]"


def test_a_key_that_was_cut_off_is_hidden_to_the_end_of_the_text() -> None:
    assert mask("key:\n" + key_block("PRIVATE KEY", end=False)) == "key:\n[secret:private-key]"
    assert mask("key:\n" + key_block("PRIVATE KEY", end=False)[:40]) == "key:\n[secret:private-key]"


@pytest.mark.parametrize("margin", ["     {}\u2192", "{}\t", "+", "> ", "  | ", "{}: "])
def test_a_key_shown_with_line_numbers_or_as_a_diff_is_hidden(margin: str) -> None:
    lines = key_block("OPENSSH PRIVATE KEY").split("\n")
    shown = "\n".join(margin.format(number) + line for number, line in enumerate(lines, 1))
    masked = mask(shown)
    assert masked == margin.format(1) + "[secret:private-key]"


@pytest.mark.parametrize("header", ["Proc-Type: 4,ENCRYPTED", "Version: GnuPG v2", "Comment: old key"])
def test_a_key_with_headers_is_hidden(header: str) -> None:
    first, _, rest = key_block("RSA PRIVATE KEY").partition("\n")
    assert mask(f"{first}\n{header}\n\n{rest}") == "[secret:private-key]"


def test_a_short_key_is_hidden_where_its_line_ends() -> None:
    assert mask("-----BEGIN PRIVATE KEY-----\nabc123\n-----END PRIVATE KEY-----") == "[secret:private-key]"
    assert mask('"-----BEGIN PRIVATE KEY-----\\nabc123\\n-----END PRIVATE KEY-----\\n"') == '"[secret:private-key]\\n"'


def test_a_token_that_follows_parts_that_are_none_is_found() -> None:
    token = jwt({"alg": "HS256"})
    assert mask(f"{jwt({'typ': 'x'}).split('.')[0]}.{token}").endswith(f"[secret:jwt \u2026{token[-4:]}]")


def test_a_bot_token_is_found_inside_the_path_telegram_uses() -> None:
    token = "123456789" + ":AA" + fill(WORD, 33)
    assert mask(f"https://api.telegram.org/bot{token}/getMe").startswith("https://api.telegram.org/bot[secret:telegram")
    assert find("9" * 11 + token[9:]) == []


def test_a_percent_encoded_secret_is_found() -> None:
    token = checked("ghp_", 30)
    assert token not in mask("q=" + quote(f"token={token}&x=1", safe=""))


def test_a_secret_in_twice_encoded_json_is_found() -> None:
    token = checked("ghp_", 30)
    assert token not in mask(json.dumps(json.dumps({"out": f"line\n{token}\n"})))


# Linear time, by construction: what follows reads the patterns themselves.

parser = importlib.import_module("re._parser")
REPEATS = {parser.MAX_REPEAT, parser.MIN_REPEAT, parser.POSSESSIVE_REPEAT}
PATTERNS = [rule.pattern for rule in secrets.RULES] + [*secrets._SIEVE, secrets._KEY_BODY, secrets._KEY_END]


def repeats(node: object) -> list[tuple[int, object]]:
    """Return (most times, what is repeated) of every repeat in a parsed pattern, at any depth."""
    found: list[tuple[int, object]] = []
    items = node if isinstance(node, list | tuple | parser.SubPattern) else []
    for item in items:
        if isinstance(item, tuple) and len(item) == 2 and item[0] in REPEATS:
            found.append((int(item[1][1]), item[1][2]))
        found += repeats(item)
    return found


@pytest.mark.parametrize(
    "pattern", [*PATTERNS, secrets._PLACEHOLDER, secrets._BOT_NUMBER], ids=lambda p: p.pattern[:20]
)
def test_no_pattern_repeats_without_bound_or_repeats_a_repeat(pattern: re.Pattern[str]) -> None:
    for most, repeated in repeats(parser.parse(pattern.pattern)):
        assert most <= 65_536
        assert most == 1 or not repeats(repeated)


@pytest.mark.parametrize("pattern", PATTERNS[:-2], ids=lambda p: p.pattern[:20])
def test_every_search_jumps_from_literal_to_literal(pattern: re.Pattern[str]) -> None:
    assert parser.parse(pattern.pattern)[0][0] is parser.LITERAL


def worst_cases(sample: Sample) -> list[str]:
    """Return long texts that keep starting to be `sample`, or start and never end."""
    starts = [sample.text[: len(sample.text) * part // 8] for part in (1, 2, 4, 6, 7)] + [sample.text[:-1]]
    repeated = [(start * (LONG // max(len(start), 1)))[:LONG] for start in starts]
    return repeated + [start + start[-1:] * LONG for start in starts]


@each_sample
def test_a_long_text_that_nearly_matches_is_read_to_its_end(sample: Sample) -> None:
    rules = [rule for rule in secrets.RULES if rule.kind == sample.kind]
    for text in worst_cases(sample):
        for rule in rules:
            assert all(finding.end <= len(text) for finding in secrets._matches(rule, text))


@pytest.mark.parametrize(
    "unit", ["a", "_", "-", "eyJ", "eyJ.", "://", "://a:", "@", "sk-", "AKIA", ":AA", "0", "\\n", "_a-"]
)
def test_a_long_text_of_one_unit_holds_no_secret(unit: str) -> None:
    assert secrets._found(unit * (LONG // len(unit))) == []


@pytest.mark.parametrize("slash", ["/", "\\/"])
def test_slashes_that_json_escaped_hide_no_secret(slash: str) -> None:
    password, key = "hunter" + "2hunter2", "wJalrXUtnFEMI/K7MD" + "ENG/bPxRfiCYzzzzzzzzKE"
    text = f"postgres://bob:{password}@host and aws_secret_access_key={key}".replace("/", slash)
    assert password not in mask(text)
    assert key.replace("/", slash)[:20] not in mask(text)
