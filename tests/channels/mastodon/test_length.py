"""The length of statuses as instances count it, and never less."""

import re
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from channels.http.links import StatusLimits, fits_status, graphemes, status_length
from common.truncation import FittingPart, fit_parts

FAMILY = "👩‍👩‍👧"
LINK = "https://blog.example.org/a/very/long/path/that/would/not/fit/otherwise?with=query&and=more"
# twitter-text's rule for links, with few top-level domains: the preceding character, the end of the path.
_INSTANCE_LINK = re.compile(
    r"(?<![A-Za-z0-9@＠$#＃\u202a-\u202e])https?://(?:[\w-]+\.)+(?:com|org|example|co\.uk)(?![\w-])(?::[0-9]+)?"
    r"(?:/(?:(?:[\w!*';:=+,./$%\[\]~&|@–-]*(?:\([\w.]*\))?)*[\w=#/+-])?)?(?:\?[\w!?*'(();:&=+$/%#\[\]~,.@|-]*[\w=#/])?"
)
PLACES = st.sampled_from(
    ["blog.example", "a.co.uk", "müller.com", "intranet", "x.org:80", "a.museum", "b.com"]
)
PATHS = st.text(st.sampled_from("ab1/().,;:=?&#%~_-!ü"), max_size=60)
LINKS = st.builds(lambda place, path: f"https://{place}/{path}", PLACES, PATHS)
WORDS = st.lists(LINKS | st.text("ab #_.()", max_size=6), max_size=12).map("".join)


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
def test_what_an_instance_may_take_in_part_costs_a_link_and_all_its_characters(link: str) -> None:
    assert status_length(link, 23) == 23 + len(link)


@example("https://a.co.uk/https://blog.example/", 17)
@given(WORDS, st.sampled_from([17, 23, 30]))
def test_no_instance_counts_more_than_we_do(text: str, per_url: int) -> None:
    assert graphemes(_INSTANCE_LINK.sub("x" * per_url, text)) <= status_length(text, per_url)


def test_a_link_in_the_warning_counts_in_full() -> None:
    assert not fits_status(StatusLimits(100), warning=LINK)("x" * 20)
    assert fits_status(StatusLimits(100), warning=LINK)("x" * (100 - len(LINK)))


def test_a_huge_title_takes_no_long_time() -> None:
    zalgo, begun = "a" + "\u0301" * 500_000, time.process_time()
    fits = fits_status(StatusLimits())
    made = fit_parts([FittingPart(zalgo, cuttable=True), FittingPart("b" * 1_000_000, cuttable=True)], fits)
    assert fits(made)
    assert time.process_time() - begun < 5
