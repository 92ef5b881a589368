"""How many examples a property is tried with: few at every run of the suite, many with HYPOTHESIS_PROFILE=thorough."""

import os

from hypothesis import HealthCheck, settings

THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
USUAL = 40


def examples(count: int) -> settings:
    """Return settings for a property whose examples are dear, and share a fixture that they leave as it was."""
    # Other work on the machine may stall any example; what is too slow is shown by a benchmark.
    return settings(
        max_examples=count * 25 if THOROUGH else count,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
