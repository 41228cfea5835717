"""A document's own metadata: update interval, hubs, picture."""

import pytest

from feeds.parsing.document import parse
from feeds.parsing.entry import Channel
from tests.servers.documents import atom, rss

URL = "https://blog.example/feed.xml"
ATOM = 'xmlns:atom="http://www.w3.org/2005/Atom"'


def channel(extra: str, *, broken: bool = False) -> Channel:
    body = rss([{"guid": "1", "title": "<hour>5</hour>", "extra": "<hour>7</hour>"}], extra=extra)
    return parse(body.replace(b"</rss>", b"") if broken else body, content_type="", url=URL).channel


def test_a_feed_that_says_nothing_says_nothing() -> None:
    assert channel("") == Channel()


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("60", 60),
        (" 90 ", 90),
        ("0", None),
        ("-5", None),
        ("1.5", None),
        ("soon", None),
        ("999999999", 44_640),
        ("9" * 20, None),
        ("", None),
    ],
)
def test_ttl_is_minutes_within_a_month(text: str, minutes: int | None) -> None:
    assert channel(f"<ttl>{text}</ttl>").ttl == minutes


@pytest.mark.parametrize("broken", [False, True])
def test_skipped_hours_and_days_are_all_read(broken: bool) -> None:
    found = channel(
        "<skipHours><hour>0</hour><hour>13</hour><hour> 7 </hour><hour>24</hour><hour>25</hour><hour>x</hour>"
        "</skipHours>"
        "<skipDays><day>Sunday</day><day> monday </day><day>Caturday</day></skipDays>",
        broken=broken,
    )
    assert (found.skip_hours, found.skip_days) == ((0, 7, 13), (0, 6))


def test_hubs_and_the_feeds_own_address_are_those_of_the_web() -> None:
    links = "".join(f'<atom:link rel="hub" href="https://hub{n}.example/"/>' for n in range(9))
    found = channel(
        f'<atom:link {ATOM} rel="self" href="/feed.xml"/><x {ATOM}><atom:link rel="hub" href="ftp://h/"/>{links}</x>'
    )
    assert found.topic == URL
    assert found.hubs == tuple(f"https://hub{n}.example/" for n in range(5))


def test_atom_has_them_as_well() -> None:
    extra = (
        '<link rel="hub" href="https://hub.example/"/><link rel="self" href="self.atom"/><logo>/l.png</logo>'
    )
    body = atom([{"guid": "1"}], extra=extra + "<icon>/i.png</icon>")
    assert parse(body, content_type="", url=URL).channel == Channel(
        hubs=("https://hub.example/",),
        topic="https://blog.example/self.atom",
        image="https://blog.example/l.png",
    )


def test_the_picture_is_the_channels_and_not_a_posts() -> None:
    assert (
        channel("<image><url>/logo.png</url><title>x</title></image>").image
        == "https://blog.example/logo.png"
    )
    assert channel('<itunes:image href="javascript:x"/>').image == ""


def test_it_survives_being_stored() -> None:
    found = channel("<ttl>5</ttl><skipHours><hour>3</hour></skipHours>")
    assert Channel.from_json(found.to_json()) == found
