"""Every adapter reads its samples exactly as their expectations say."""

import pytest

from tests.ingest.adapters.golden import Case, cases


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_a_sample_is_read_as_expected(case: Case) -> None:
    assert case.read() == case.expected()
