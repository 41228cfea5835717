"""How long a response stays fresh, by the rules of HTTP caches."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feeds.rules.pace import LONGEST_FRESHNESS, fresh_for

NOW = datetime(2026, 5, 4, 10, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, 0),
        ({"cache-control": "max-age=600"}, 600),
        ({"cache-control": 'Public, MAX-AGE="600", must-revalidate'}, 600),
        ({"cache-control": "max-age=600", "age": "100"}, 500),
        ({"cache-control": "max-age=600", "age": "1000"}, 0),
        ({"cache-control": "max-age=600, no-cache"}, 0),
        ({"cache-control": "no-store"}, 0),
        ({"cache-control": "s-maxage=600"}, 0),
        ({"cache-control": "max-age=soon"}, 0),
        ({"cache-control": "max-age=-5"}, 0),
        ({"cache-control": "max-age=60, max-age=600"}, 60),
        ({"expires": "Mon, 04 May 2026 11:00:00 GMT"}, 1800),
        ({"expires": "0"}, 0),
        ({"expires": "Mon, 04 May 2026 10:00:00 GMT"}, 0),
        ({"expires": "Mon, 04 May 2026 11:00:00 GMT", "cache-control": "max-age=60"}, 60),
    ],
)
def test_max_age_goes_before_expires_and_age_is_taken_off(headers: dict[str, str], seconds: int) -> None:
    assert fresh_for(headers, NOW) == timedelta(seconds=seconds)


def test_expires_is_measured_on_the_servers_own_clock() -> None:
    wrong_by_a_year = {"expires": "Sun, 04 May 2025 11:00:00 GMT", "date": "Sun, 04 May 2025 10:00:00 GMT"}
    assert fresh_for(wrong_by_a_year, NOW) == timedelta(hours=1)


@given(st.dictionaries(st.sampled_from(("cache-control", "expires", "date", "age")), st.text()))
def test_whatever_a_server_writes_is_some_length_of_time(headers: dict[str, str]) -> None:
    assert timedelta(0) <= fresh_for(headers, NOW) <= LONGEST_FRESHNESS
