"""Hostile feeds run no code, and URLs of internal servers are not requested."""

import re
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client

from reader.channels.channels import alter_channel
from reader.channels.filters import mute
from reader.channels.follows import follow_feed
from reader.entries.place import place_due
from reader.media.pictures import media_path
from reader.models import Channel, Entry, Reader
from reader.timelines import stars
from reader.urls import urlpatterns
from tests.factories import NOW
from tests.feeds.watched import Blog, at, post
from tests.reader.client import MicrosubClient
from tests.reader.streams.open import close
from tests.servers.feed_server import FeedServer

pytestmark = pytest.mark.django_db

RUNS = re.compile(r"^\s*(javascript|data|vbscript):", re.IGNORECASE)
LOADED = {"script", "svg", "iframe", "object", "embed", "style", "base"}
OURS = "/static/feedletter/"
ICON = '<svg class="icon" viewBox="0 0 24 24" aria-hidden="true">'
SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(2)><svg onload=alert(3)>"
WORDS = f"{SCRIPT}\"'><b onmouseover=alert(4)>"
HTML = f"""<p>Words</p>{SCRIPT}<a href="javascript:alert(5)">a</a><a href=" java\tscript:alert(6)">b</a>
<iframe src="https://evil.example/"></iframe><form action="javascript:alert(7)"><button>x</button></form>
<a href="data:text/html,<script>alert(8)</script>">c</a><p style="background:url(javascript:9)">d</p>"""
INSIDE = ("/feed.xml", "/redirect")


class Probe(HTMLParser):
    """Parser that records what a browser would run, or load from other servers."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        is_script = tag == "script" and values.get("src", "").startswith(OURS)
        is_ours = is_script or self.get_starttag_text() == ICON
        runs = any(name.startswith("on") or RUNS.match(value) for name, value in values.items())
        if (tag in LOADED and not is_ours) or runs or "style" in values:
            self.found.append(self.get_starttag_text() or tag)


@pytest.fixture
def hostile(ada: Reader, home: Channel, blog: Blog) -> Entry:
    """Return a feed whose every text is an attack, in a channel with such a name."""
    alter_channel(channel=home, name=WORDS[:100])
    mute(reader=ada, channel=home, url="https://evil.example/?<script>alert(1)</script>", now=NOW)
    one = post("evil", title=WORDS, content=HTML, author=WORDS, link="https://e.example/?a=<script>")
    other = post("worse", title="", content=HTML, link="javascript:alert(1)")
    blog.show(one, other, title=WORDS, link="javascript:alert(1)")
    blog.watch(for_letters=False)
    follow_feed(channel=home, feed=blog.feed, clock=lambda: at(-1))
    blog.read(0)
    place_due(clock=lambda: at(1))
    entry = Entry.objects.earliest("pk")
    stars.star(reader=ada, entries=[entry.pk], now=NOW)
    return entry


def test_nothing_of_a_hostile_feed_runs_on_any_page(
    ada: Reader, web: Callable[[Reader], Client], hostile: Entry
) -> None:
    keys = {"uid": "home", "post": hostile.pk, "star": hostile.pk}
    browser, seen = web(ada), 0
    for pattern in urlpatterns:
        name, route = str(pattern.name), str(pattern.pattern)
        if name.startswith(("microsub", "greader")) or name == "media":
            continue
        key = keys["uid"] if "<slug:uid>" in route else keys.get(name, hostile.feed_id)
        answer = browser.get(
            "/" + re.sub(r"<\w+:\w+>", str(key), route),
            {"q": WORDS, "url": WORDS, "name": WORDS, "marked": WORDS},
        )
        if answer.streaming:
            close(answer)
            continue
        text = answer.content.decode()
        if answer.status_code == 200 and answer.headers["Content-Type"].startswith("text/html"):
            seen += 1
            assert Probe(text).found == [], name
            assert "'unsafe" not in answer.headers["Content-Security-Policy"], name
    assert seen >= 11


def test_nothing_of_a_hostile_feed_runs_in_a_client(
    api: MicrosubClient, blog: Blog, hostile: Entry, loopback_allowed: None
) -> None:
    answers = [
        api.ask("timeline", channel="home"),
        api.ask("search", channel="home", query="words"),
        api.ask("preview", url=blog.feed.url),
    ]
    for answer in answers:
        assert answer["items"]
        for item in answer["items"]:
            assert Probe(item["content"]["html"]).found == []
            assert item["content"]["html"].startswith("<p>Words</p>")
            for url in (item.get("url", ""), item.get("author", {}).get("url", "")):
                assert not url or url.startswith("http"), item


@pytest.mark.parametrize("path", INSIDE)
def test_no_address_leads_inside(
    ada: Reader, api: MicrosubClient, web: Callable[[Reader], Client], blog: Blog, settings: Any, path: str
) -> None:
    """The servers are on this machine, as in a private network."""
    server: FeedServer = blog.server
    server.redirect("/redirect", blog.server.url(blog.path))
    settings.ALLOW_PRIVATE_NETWORKS = []
    cache.clear()
    for url in (server.url(path), server.url(path).replace("127.0.0.1", "localhost")):
        for action in ("follow", "preview"):
            assert api.post(action, channel="home", url=url)[0] == 400
        assert api.do("search", query=url)["results"] == []
        browser = web(ada)
        assert browser.get(media_path(url)).status_code == 404
        for given in ({"act": ""}, {"act": "follow", "channel": "home"}):
            browser.post("/reader/follow/", {"url": url, **given})
    assert server.requests == []
    assert not ada.channels.filter(follows__isnull=False).exists()
