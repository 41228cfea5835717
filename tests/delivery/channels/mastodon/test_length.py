"""Statuses counted as instances count them, and never as less."""

import time

import pytest

from common.truncation import FittingPart, fit_parts
from delivery.channels.http.priced_links import StatusLimits, fits_status, status_length

FAMILY = "👩‍👩‍👧"
LINK = "https://blog.example.org/a/very/long/path/that/would/not/fit/otherwise?with=query&and=more"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("abc", 3),
        (FAMILY * 2, 2),
        (LINK, 23),
        ("http://a.io", 23),
        ("@ada@host.example hi", 7),
        ("@ada hi", 7),
    ],
)
def test_graphemes_links_and_mentions_have_their_prices(text: str, expected: int) -> None:
    assert status_length(text, 23) == expected


@pytest.mark.parametrize(
    "link",
    [
        "https://wiki.intranet/a/page/with/a/longer/address",
        "https://blog.example.org#a-long-fragment-right-after-the-host",
        "https://blog.example.org/a/page_(disambiguation",
        "https://blog.example.org/a/page/that/ends/with/an/equals=",
        "https://müller.example/a/page/of/a/host/with/an/umlaut",
    ],
)
def test_what_an_instance_may_not_take_for_a_link_is_counted_in_full(link: str) -> None:
    assert status_length(link, 23) == len(link)


def test_a_link_in_the_warning_counts_in_full() -> None:
    assert not fits_status(StatusLimits(100), warning=LINK)("x" * 20)
    assert fits_status(StatusLimits(100), warning=LINK)("x" * (100 - len(LINK)))


def test_a_huge_title_takes_no_long_time() -> None:
    zalgo, begun = "a" + "\u0301" * 500_000, time.process_time()
    fits = fits_status(StatusLimits())
    made = fit_parts([FittingPart(zalgo, cuttable=True), FittingPart("b" * 1_000_000, cuttable=True)], fits)
    assert fits(made)
    assert time.process_time() - begun < 5
