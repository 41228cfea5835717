"""add_feed accepts a document if and only if the parser can read it."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from feeds.models import Feed
from feeds.parsing.document import parse
from feeds.parsing.entry import ParseError
from tests.console import json_of, refused
from tests.examples import some_now
from tests.feeds.corpus.documents import CONTENT_TYPES, documents
from tests.servers.documents import atom, rss
from tests.servers.feed_server import FeedServer

pytestmark = pytest.mark.django_db
FEEDS = Path(__file__).parents[2] / "fixtures" / "feeds"
Served = tuple[bytes, str]
HTML_POST = {"id": "1", "url": "https://x.example/1", "content_html": "<!DOCTYPE html><html><p>Text</p>"}
JSON_FEED = json.dumps({"version": "https://jsonfeed.org/version/1.1", "title": "J", "items": [HTML_POST]})


def every() -> dict[str, Served]:
    """Return all documents of the repository, with their content types."""
    odd = {document.name: (document.body, document.content_type) for document in documents()}
    plain = {
        path.name: (path.read_bytes(), CONTENT_TYPES.get(path.suffix, "application/xml"))
        for path in sorted(FEEDS.glob("*.*"))
    }
    # Any feed may be served as HTML.
    as_html = {f"{name} as html": (body, "text/html") for name, (body, _) in (odd | plain).items()}
    return odd | plain | as_html


EVERY = every()


@pytest.fixture
def server(loopback_allowed: None) -> Iterator[FeedServer]:
    with FeedServer() as running:
        yield running


def is_readable(body: bytes, content_type: str, url: str) -> bool:
    try:
        parse(body, content_type=content_type, url=url)
    except ParseError:
        return False
    return True


@pytest.mark.slow
@pytest.mark.parametrize("name", some_now(EVERY, every=10))
def test_a_document_is_taken_exactly_where_the_parser_takes_it(name: str, server: FeedServer) -> None:
    body, content_type = EVERY[name]
    url = server.serve("/doc", body, headers={"Content-Type": content_type})
    if is_readable(body, content_type, url):
        added = json_of("add_feed", url)
        assert (added["url"], Feed.objects.get().failures) == (url, 0)
    else:
        assert refused("add_feed", url)
        assert Feed.objects.filter(first_polled_at__isnull=False).count() == 0


@pytest.mark.parametrize("type_", ["application/feed+json", "application/json", "text/html", "text/plain"])
def test_a_json_feed_is_taken_whatever_html_is_in_it(server: FeedServer, type_: str) -> None:
    url = server.serve("/feed", JSON_FEED, headers={"Content-Type": type_})
    assert json_of("add_feed", url)["title"] == "J"


@pytest.mark.parametrize("type_", ["application/feed+json", "application/json"])
def test_a_page_leads_to_the_json_feed_that_it_declares(server: FeedServer, type_: str) -> None:
    server.serve("/feed.json", JSON_FEED, headers={"Content-Type": type_})
    link = f'<link rel="alternate" type="{type_}" href="/feed.json">'
    home = server.serve("/", f"<!doctype html><head>{link}", headers={"Content-Type": "text/html"})
    assert json_of("add_feed", home)["url"] == server.url("/feed.json")


@pytest.mark.parametrize(
    "before",
    [
        "<!DOCTYPE html>",
        "<!-- <p>made by hand</p> -->",
        "<!doctype rss [<!ENTITY nbsp '&#160;'>]>",
        "<b>Warning</b>: in line 3",
        "\n\n",
    ],
)
@pytest.mark.parametrize("write", [rss, atom])
def test_what_stands_before_the_first_element_makes_no_page_of_a_feed(
    server: FeedServer, before: str, write: Callable[..., bytes]
) -> None:
    body = write([{"guid": "1", "title": "<p>One</p>"}]).partition(b"\n")[2]
    url = server.serve("/feed", before.encode() + body, headers={"Content-Type": "text/html"})
    assert json_of("add_feed", url)["title"] == "Example Blog"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_a_page_in_utf_16_leads_to_its_feed(server: FeedServer, encoding: str) -> None:
    server.serve("/feed.xml", rss([{"guid": "1"}]))
    page = '<!doctype html><link rel="alternate" type="application/rss+xml" href="/feed.xml">'
    home = server.serve("/", page.encode(encoding), headers={"Content-Type": "text/html"})
    assert json_of("add_feed", home)["url"] == server.url("/feed.xml")
