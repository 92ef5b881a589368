"""What detect-secrets knows as a secret, Origin hides."""

import pytest
from detect_secrets.plugins.aws import AWSKeyDetector
from detect_secrets.plugins.azure_storage_key import AzureStorageKeyDetector
from detect_secrets.plugins.base import RegexBasedDetector
from detect_secrets.plugins.basic_auth import BasicAuthDetector
from detect_secrets.plugins.github_token import GitHubTokenDetector
from detect_secrets.plugins.gitlab_token import GitLabTokenDetector
from detect_secrets.plugins.jwt import JwtTokenDetector
from detect_secrets.plugins.npm import NpmDetector
from detect_secrets.plugins.openai import OpenAIDetector
from detect_secrets.plugins.private_key import PrivateKeyDetector
from detect_secrets.plugins.pypi_token import PypiTokenDetector
from detect_secrets.plugins.sendgrid import SendGridDetector
from detect_secrets.plugins.slack import SlackDetector
from detect_secrets.plugins.stripe import StripeDetector
from detect_secrets.plugins.telegram_token import TelegramBotTokenDetector
from detect_secrets.plugins.twilio import TwilioKeyDetector

from memory.secrets import mask
from tests.memory.secret_samples import SAMPLES, Sample

DETECTORS: dict[str, RegexBasedDetector] = {
    "aws-access-key-id": AWSKeyDetector(),
    "azure-key": AzureStorageKeyDetector(),
    "url-password": BasicAuthDetector(),
    "github-token": GitHubTokenDetector(),
    "gitlab-token": GitLabTokenDetector(),
    "jwt": JwtTokenDetector(),
    "npm-token": NpmDetector(),
    "model-key": OpenAIDetector(),
    "private-key": PrivateKeyDetector(),
    "pypi-token": PypiTokenDetector(),
    "sendgrid-key": SendGridDetector(),
    "slack-token": SlackDetector(),
    "stripe-key": StripeDetector(),
    "telegram-bot-token": TelegramBotTokenDetector(),
    "twilio-key": TwilioKeyDetector(),
}
CONTEXTS = (
    "{}",
    "key: '{}'",
    '"key": "{}",',
    "//npm.internal/:_authToken={}",
    "curl https://host/path -H 'Authorization: {}'",
)


def seen(detector: RegexBasedDetector, text: str) -> set[str]:
    """Return what the detector reports of `text`."""
    return set(detector.analyze_string(text))


@pytest.mark.parametrize("kind", DETECTORS)
def test_each_detector_knows_a_sample_of_its_kind(kind: str) -> None:
    texts = [context.format(sample.text) for sample in SAMPLES if sample.kind == kind for context in CONTEXTS]
    assert any(seen(DETECTORS[kind], text) for text in texts)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: f"{sample.kind}:{sample.text[:12]}")
def test_no_detector_sees_a_secret_in_a_masked_text(sample: Sample) -> None:
    for context in CONTEXTS:
        masked = mask(context.format(sample.text))
        assert not set().union(*(seen(detector, masked) for detector in DETECTORS.values())), masked
