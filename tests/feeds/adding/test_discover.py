"""Feed discovery from any URL, on real servers: requests, results and messages."""

import json
import time
from datetime import UTC, datetime, timedelta
from ipaddress import ip_network
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import transaction

from common.net.client import SafeClient
from common.transactions import NetworkInTransaction
from feeds.adding.discover import (
    COMMENTS,
    NO_DATES,
    NO_FEED_FOUND,
    NO_POSTS,
    OUT_OF_TIME,
    Discovery,
    DiscoveryBudget,
    addresses,
    discover,
)
from feeds.models import Feed
from tests.factories import FeedFactory
from tests.feeds.watched import post
from tests.servers.documents import atom, rss
from tests.servers.feed_server import FeedServer, Reply, Request

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
HTML = {"Content-Type": "text/html; charset=utf-8"}
FEED = '<link rel="alternate" type="application/rss+xml" title="{title}" href="{href}">'


def dated(name: str, days: float = 0, **changes: Any) -> dict[str, Any]:
    return post(name, published=NOW - timedelta(days=days), **changes)


def blog(*names: str, title: str = "Blog") -> bytes:
    return rss([dated(name, days) for days, name in enumerate(names)], title=title)


def page(server: FeedServer, html: str, path: str = "/") -> str:
    return server.serve(path, f"<!doctype html><title>A page</title>{html}", headers=HTML)


def linked(*links: tuple[str, str]) -> str:
    return "".join(FEED.format(href=href, title=title) for href, title in links)


def found(url: str, **options: Any) -> Discovery:
    return discover(url, now=NOW, **options)


def urls(discovery: Discovery) -> list[str]:
    return [one.url for one in discovery.candidates]


def asked(server: FeedServer) -> list[str]:
    return [request.path for request in server.requests]


def test_the_address_of_a_feed_is_the_feed_and_nothing_else_is_asked(server: FeedServer) -> None:
    url = server.serve("/feed.xml", blog("b", "a"))
    discovery = found(url)
    assert discovery.is_feed
    assert urls(discovery) == [url]
    assert asked(server) == ["/feed.xml"]
    one = discovery.candidates[0]
    assert (one.title, one.format, one.posts, one.warnings) == ("Blog", "RSS 2.0", 2, ())
    assert [(line.title, line.published) for line in one.latest] == [
        ("Post b", NOW),
        ("Post a", NOW - timedelta(days=1)),
    ]


def test_a_page_leads_to_the_feeds_that_it_names_in_its_order(server: FeedServer) -> None:
    home = page(server, linked(("/all.xml", "All"), ("/news.xml", "News")))
    server.serve("/all.xml", blog("b", "a", title="All posts"))
    server.serve("/news.xml", blog("c", title="News"))
    discovery = found(home)
    assert [one.title for one in discovery.candidates] == ["All posts", "News"]
    assert discovery.only is None
    assert not discovery.is_feed
    assert sorted(asked(server)) == ["/", "/all.xml", "/news.xml"]


def test_five_posts_are_shown_the_newest_first_whatever_their_order(server: FeedServer) -> None:
    server.serve("/feed.xml", rss([dated(str(days), days) for days in (9, 2, 5, 1, 7, 3)]))
    one = found(server.url("/feed.xml")).candidates[0]
    assert [line.title for line in one.latest] == [f"Post {days}" for days in (1, 2, 3, 5, 7)]
    assert one.posts == 6


def test_feeds_of_comments_come_last_and_are_warned_about(server: FeedServer) -> None:
    home = page(server, linked(("/comments/feed/", "Blog » Comments"), ("/feed/", "Blog")))
    server.serve("/comments/feed/", blog("c", title="Comments for Blog"))
    server.serve("/feed/", blog("b", "a"))
    discovery = found(home)
    assert [one.is_comments for one in discovery.candidates] == [False, True]
    assert COMMENTS in discovery.candidates[1].warnings
    assert discovery.only is discovery.candidates[0]


def test_a_feed_that_says_itself_that_it_brings_comments_is_believed(server: FeedServer) -> None:
    server.serve("/x/feed/", blog("a", title="Comments on: Something"))
    assert found(server.url("/x/feed/")).candidates[0].is_comments


def test_old_empty_and_undated_feeds_are_warned_about_and_go_behind(server: FeedServer) -> None:
    home = page(server, linked(*((f"/{name}", name) for name in ("old", "empty", "undated"))))
    server.serve("/old", rss([dated("a", 400)], title="Old"))
    server.serve("/empty", rss([], title="Empty"))
    server.serve("/undated", rss([post("z")], title="Undated"))
    warnings = {one.title: one.warnings for one in found(home).candidates}
    assert list(warnings) == ["Undated", "Old", "Empty"]
    assert warnings["Undated"] == (NO_DATES,)
    assert warnings["Empty"] == (NO_POSTS,)
    assert "March 2025" in warnings["Old"][0]


def test_a_permanent_redirect_is_followed_for_good_and_a_temporary_one_is_not(server: FeedServer) -> None:
    server.serve("/there.xml", blog("a"))
    server.redirect("/moved.xml", server.url("/there.xml"), 301)
    server.redirect("/today.xml", server.url("/there.xml"), 302)
    server.redirect("/both.xml", server.url("/today.xml"), 308)
    assert urls(found(server.url("/moved.xml"))) == [server.url("/there.xml")]
    assert urls(found(server.url("/today.xml"))) == [server.url("/today.xml")]
    assert urls(found(server.url("/both.xml"))) == [server.url("/today.xml")]


def test_the_same_bytes_at_several_addresses_are_one_feed(server: FeedServer) -> None:
    home = page(server, linked(("/a.xml", "A"), ("/b.xml", "B"), ("/c.xml?format=rss", "C")))
    for path in ("/a.xml", "/b.xml", "/c.xml"):
        server.serve(path, blog("a"))
    discovery = found(home)
    assert urls(discovery) == [server.url("/a.xml")]
    assert discovery.only


def test_the_same_posts_in_two_formats_are_one_feed_the_one_that_says_more(server: FeedServer) -> None:
    home = page(server, linked(("/rss", "RSS"), ("/atom", "Atom")))
    server.serve("/rss", rss([dated("a", content="<p>Short.</p>")], title="Blog"))
    server.serve("/atom", atom([dated("a", content=f"<p>{'Long. ' * 99}</p>")], title="Blog"))
    (one,) = found(home).candidates
    assert (one.url, one.format) == (server.url("/atom"), "Atom")
    assert one.also == (("RSS 2.0", server.url("/rss")),)


def test_links_that_lead_to_no_feed_are_left_out(server: FeedServer) -> None:
    home = page(server, linked(("/gone", "Gone"), ("/page", "Page"), ("/feed", "Feed")))
    page(server, "", "/page")
    server.serve("/feed", blog("a"))
    assert urls(found(home)) == [server.url("/feed")]


def test_a_page_of_h_entries_is_itself_a_feed_if_it_names_none(server: FeedServer) -> None:
    entry = '<article class="h-entry"><a class="u-url p-name" href="/1">First</a></article>'
    home = page(server, f'<div class="h-feed">{entry}</div>')
    discovery = found(home)
    assert urls(discovery) == [home]
    assert discovery.candidates[0].format == "the page itself (h-feed)"
    page(server, linked(("/feed", "Feed")) + f'<div class="h-feed">{entry}</div>')
    server.serve("/feed", blog("a"))
    assert urls(found(home)) == [server.url("/feed")]


def test_links_in_the_text_are_tried_when_nothing_is_declared(server: FeedServer) -> None:
    home = page(server, '<footer><a href="/subscribe">RSS</a></footer>')
    server.serve("/subscribe", blog("a"))
    assert urls(found(home)) == [server.url("/subscribe")]


def test_a_mastodon_profile_is_found_by_its_form(server: FeedServer) -> None:
    profile = page(server, "An account", "/@ada")
    server.serve("/@ada.rss", blog("a", title="Ada"))
    assert urls(found(profile)) == [server.url("/@ada.rss")]
    assert asked(server) == ["/@ada", "/@ada.rss"]


def test_activity_pub_json_leads_to_the_profiles_feed(server: FeedServer) -> None:
    actor = {"@context": "https://www.w3.org/ns/activitystreams", "type": "Person", "name": "Ada"}
    url = server.serve("/users/ada", json.dumps(actor), headers={"Content-Type": "application/activity+json"})
    server.serve("/@ada.rss", blog("a", title="Ada"))
    assert urls(found(url)) == [server.url("/@ada.rss")]


def test_activity_pub_json_without_a_feed_is_explained(server: FeedServer) -> None:
    actor = {"@context": "https://www.w3.org/ns/activitystreams", "type": "Person", "name": "Ada"}
    url = server.serve("/actor", json.dumps(actor), headers={"Content-Type": "application/activity+json"})
    discovery = found(url)
    assert "/actor.rss" in asked(server)
    assert not discovery.candidates
    assert "ActivityPub" in discovery.problem


def local(server: FeedServer) -> SafeClient:
    """Return a client that resolves every name to the server."""
    return SafeClient(allow=[ip_network("127.0.0.0/8")], resolve=lambda host, port: ["127.0.0.1"])


def test_a_repository_offers_its_releases_before_the_commits_that_its_page_names(server: FeedServer) -> None:
    page(server, linked(("/ada/engine/commits/main.atom", "Recent Commits")), "/ada/engine")
    for name in ("releases", "commits/main"):
        server.serve(f"/ada/engine/{name}.atom", atom([dated(name)], title=name))
    url = f"http://github.com:{server.port}/ada/engine"
    discovery = found(url, http=local(server))
    assert urls(discovery) == [f"{url}/releases.atom", f"{url}/commits/main.atom"]


def test_a_tumblr_is_found_by_its_host(server: FeedServer) -> None:
    page(server, "A blog")
    server.serve("/rss", blog("a"))
    url = f"http://ada.tumblr.com:{server.port}/"
    assert urls(found(url, http=local(server))) == [f"{url}rss"]
    assert asked(server) == ["/", "/rss"]


def test_a_site_that_shows_us_no_page_may_still_show_its_feed(server: FeedServer) -> None:
    server.serve("/r/python/", "Blocked", status=403, headers=HTML)
    server.serve("/r/python/.rss", blog("a"))
    url = f"http://www.reddit.com:{server.port}/r/python/"
    assert urls(found(url, http=local(server))) == [f"{url}.rss"]


def test_the_usual_places_are_tried_last_and_only_until_one_has_a_feed(server: FeedServer) -> None:
    home = page(server, "Nothing here")
    server.serve("/index.xml", blog("a"))
    assert urls(found(home)) == [server.url("/index.xml")]
    assert "/feed" in asked(server)
    server.requests.clear()
    server.serve("/feed.xml", blog("b", title="Another"))
    assert urls(found(home)) == [server.url("/feed.xml")]
    assert "/index.xml" not in asked(server)


def test_a_page_without_feeds_says_so_and_what_to_do(server: FeedServer) -> None:
    discovery = found(page(server, "Nothing here"))
    assert discovery.problem == NO_FEED_FOUND
    assert not discovery.may_be_a_feed
    assert not discovery.needs_password


def test_feeds_that_are_named_and_cannot_be_read_are_told_of(server: FeedServer) -> None:
    assert "names 1 feed, but none could be read" in found(page(server, linked(("/gone", "x")))).problem


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (401, "user name and a password"),
        (403, "does not let us read"),
        (404, "nothing at this address"),
        (429, "too often"),
        (500, "has a problem"),
        (418, "HTTP 418"),
    ],
)
def test_what_a_server_refuses_is_said_in_a_sentence(server: FeedServer, status: int, words: str) -> None:
    discovery = found(server.serve("/x", "no", status=status, headers=HTML))
    assert words in discovery.problem
    assert discovery.needs_password is (status == 401)
    assert discovery.may_be_a_feed


def test_what_cannot_be_reached_is_said_in_a_sentence(server: FeedServer) -> None:
    server.stop()
    assert "refuses connections" in found(server.url("/")).problem


def test_a_private_address_is_not_called(settings: Any) -> None:
    settings.ALLOW_PRIVATE_NETWORKS = []
    with FeedServer() as server:
        discovery = found(server.serve("/feed.xml", blog("a")))
    assert "not a public address" in discovery.problem
    assert not server.requests


def test_links_to_private_addresses_are_not_called(server: FeedServer) -> None:
    home = page(server, linked(("http://10.0.0.1/feed", "x"), ("/feed", "Feed")))
    server.serve("/feed", blog("a"))
    assert urls(found(home)) == [server.url("/feed")]


def test_twelve_requests_are_the_most_and_the_rest_is_counted(server: FeedServer) -> None:
    home = page(server, linked(*((f"/{n}", str(n)) for n in range(30))))
    for number in range(30):
        server.serve(f"/{number}", blog(f"a{number}", title=f"Feed {number}"))
    discovery = found(home)
    assert len(server.requests) == 12
    assert [one.title for one in discovery.candidates] == [f"Feed {number}" for number in range(11)]
    assert discovery.unread == 19


def test_a_page_without_feeds_costs_no_more_than_twelve_requests(server: FeedServer) -> None:
    found(page(server, "".join(f'<a href="/{n}/feed">x</a>' for n in range(30)), "/deep/er/"))
    assert len(server.requests) == 12


def test_all_requests_together_end_with_the_time(server: FeedServer) -> None:
    home = page(server, linked(*((f"/{n}", str(n)) for n in range(8))))
    for number in range(8):
        server.serve(f"/{number}", b" " * 1000, drip=0.05)
    began = time.monotonic()
    discovery = found(home, budget=DiscoveryBudget(seconds=1.0))
    assert time.monotonic() - began < 4
    assert not discovery.candidates


def test_a_slow_page_is_told_of(server: FeedServer) -> None:
    home = server.serve("/", b" " * 1000, drip=0.05, headers=HTML)
    assert "within" in found(home, budget=DiscoveryBudget(seconds=0.3)).problem
    assert "too long" in OUT_OF_TIME


def test_an_answer_beyond_the_limit_is_refused(server: FeedServer) -> None:
    home = page(server, linked(("/big", "Big"), ("/feed", "Feed")))
    server.serve("/big", blog("b") + b" " * 20_000)
    server.serve("/feed", blog("a"))
    assert urls(found(home, budget=DiscoveryBudget(max_bytes=10_000))) == [server.url("/feed")]


def test_an_address_without_a_scheme_is_tried_over_https_and_then_http(server: FeedServer) -> None:
    server.serve("/feed.xml", blog("a"))
    assert urls(found(f"127.0.0.1:{server.port}/feed.xml")) == [server.url("/feed.xml")]


@pytest.mark.parametrize(
    ("text", "tried"),
    [
        (" https://x.test/a ", ["https://x.test/a"]),
        ("HTTP://x.test/", ["http://x.test/"]),
        ("x.test/feed", ["https://x.test/feed", "http://x.test/feed"]),
        ("//x.test/feed", ["https://x.test/feed", "http://x.test/feed"]),
        ("feed:https://x.test/feed", ["https://x.test/feed"]),
        ("feed://https://x.test/feed", ["https://x.test/feed"]),
        ("pcast://x.test/feed", ["https://x.test/feed", "http://x.test/feed"]),
        ("feed://x.test/feed", ["https://x.test/feed", "http://x.test/feed"]),
        ("localhost:8000", ["https://localhost:8000", "http://localhost:8000"]),
        ("@ada@mastodon.example", ["https://mastodon.example/@ada"]),
    ],
)
def test_addresses_are_read_as_people_write_them(text: str, tried: list[str]) -> None:
    assert list(addresses(text)) == tried


@pytest.mark.parametrize("text", ["", "ftp://x.test/", "javascript:alert(1)", "mailto:a@x.test", "https://"])
def test_what_is_no_address_is_refused_at_the_field(text: str) -> None:
    with pytest.raises(ValidationError) as refused:
        found(text)
    assert set(refused.value.message_dict) == {"url"}


def test_feeds_first_and_pages_too_are_asked_for(server: FeedServer) -> None:
    found(server.serve("/feed.xml", blog("a")))
    accept = server.requests[0].headers["accept"]
    assert accept.index("application/atom+xml") < accept.index("text/html")
    assert "activity" not in accept


def test_a_feed_that_is_watched_already_is_marked(server: FeedServer) -> None:
    home = page(server, linked(("/a.xml", "A"), ("/b.xml", "B")))
    server.serve("/a.xml", blog("a", title="A"))
    server.serve("/b.xml", blog("b", title="B"))
    watched = FeedFactory(url=server.url("/b.xml").replace("http:", "https:"))
    FeedFactory(url=server.url("/c.xml"))
    ids = {one.title: one.feed_id for one in found(home).candidates}
    assert ids == {"A": None, "B": watched.pk}


def test_a_feed_that_is_being_dropped_is_not_counted_as_watched(server: FeedServer) -> None:
    url = server.serve("/a.xml", blog("a"))
    Feed.objects.filter(pk=FeedFactory(url=url).pk).update(dropping=True)
    assert found(url).candidates[0].feed_id is None


def protected(request: Request) -> Reply:
    # "ada:secret" in base64 (RFC 7617).
    if request.headers.get("authorization") != "Basic YWRhOnNlY3JldA==":
        return Reply(b"no", 401)
    return Reply(blog("a"))


def test_credentials_open_a_feed_and_go_to_its_own_host_only(server: FeedServer) -> None:
    url = server.answer("/feed.xml", protected)
    assert found(url).needs_password
    assert urls(found(url, credentials={"user": "ada", "password": "secret"})) == [url]
    with FeedServer() as other:
        elsewhere = other.serve("/feed.xml", blog("b", title="Elsewhere"))
        home = page(server, linked((elsewhere, "Elsewhere"), (url, "Here")))
        discovery = found(home, credentials={"user": "ada", "password": "secret"})
        assert set(urls(discovery)) == {elsewhere, url}
        assert "authorization" not in other.requests[0].headers


def test_credentials_in_the_address_are_used_and_taken_out_of_it(server: FeedServer) -> None:
    url = server.answer("/feed.xml", protected)
    assert urls(found(url.replace("http://", "http://ada:secret@"))) == [url]


def test_nothing_is_asked_inside_a_transaction(server: FeedServer) -> None:
    with pytest.raises(NetworkInTransaction), transaction.atomic():
        found(server.serve("/feed.xml", blog("a")))
    assert not server.requests


def test_nothing_is_stored(server: FeedServer) -> None:
    found(server.serve("/feed.xml", blog("a")))
    assert not Feed.objects.exists()
