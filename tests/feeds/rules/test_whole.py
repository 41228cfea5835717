from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feeds.rules.whole import (
    GIVEN_UP_AFTER,
    LOG_IN,
    MOST_TRIES,
    NO_PAGE,
    PAID,
    SHORTEST,
    is_whole,
    may_fetch,
    next_try,
    passes,
    refusal,
)

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
LONG = "a" * (SHORTEST + 1)


@given(st.integers(0, 9), st.timedeltas(timedelta(0), timedelta(days=9)))
def test_a_page_is_tried_three_times_within_six_hours(tries: int, waited: timedelta) -> None:
    later = next_try(tries, asked_at=NOW, now=NOW + waited)
    assert (later is None) == (tries >= MOST_TRIES or waited >= GIVEN_UP_AFTER)
    assert later is None or later > NOW + waited


@pytest.mark.parametrize(
    ("robots", "allowed"),
    [
        ("", True),
        ("User-agent: *\nDisallow: /private/", True),
        ("User-agent: *\nDisallow: /", False),
        ("User-agent: feedletter\nDisallow: /a\n\nUser-agent: *\nDisallow:", False),
        ("User-agent: *\nDisallow: /\n\nUser-agent: Feedletter\nAllow: /", True),
        ("<html>\0Not found %zz", True),
    ],
)
def test_robots_txt_decides(robots: str, allowed: bool) -> None:
    assert may_fetch(robots, "https://x.test/a?b=c") is allowed


@given(st.text())
def test_no_robots_txt_is_an_error(robots: str) -> None:
    assert may_fetch(robots, "https://x.test/a") in (True, False)


@pytest.mark.parametrize(
    ("url", "was_redirected", "kind", "html", "why"),
    [
        ("https://x.test/a", False, "text/html; charset=utf-8", "<p>", ""),
        ("https://x.test/a", False, "application/pdf", "", NO_PAGE),
        ("https://x.test/a", False, "", "<p>", NO_PAGE),
        ("https://x.test/login?next=/a", True, "text/html", "<p>", LOG_IN),
        ("https://x.test/accounts/sign-in", True, "text/html", "<p>", LOG_IN),
        ("https://x.test/login-forms", False, "text/html", "<p>", ""),
        ("https://x.test/blogging-in-rust", True, "text/html", "<p>", ""),
        ("https://x.test/a", False, "text/html", '{"isAccessibleForFree": false}', PAID),
        ("https://x.test/a", False, "text/html", '{"isAccessibleForFree":"False"}', PAID),
        ("https://x.test/a", False, "text/html", '{"isAccessibleForFree": true}', ""),
    ],
)
def test_log_ins_paid_texts_and_files_are_refused(
    url: str, was_redirected: bool, kind: str, html: str, why: str
) -> None:
    assert refusal(url=url, was_redirected=was_redirected, kind=kind, html=html) == why


def test_a_whole_text_is_longer_than_the_excerpt_and_than_a_notice() -> None:
    assert is_whole(LONG, "a")
    assert not is_whole(LONG, LONG)
    assert not is_whole("Subscribe to go on.", "")


def test_only_what_may_pass_is_tried_again() -> None:
    assert [status for status in (401, 402, 403, 404, 410, 429, 500, 503) if passes(status)] == [
        429,
        500,
        503,
    ]
