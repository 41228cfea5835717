"""A preview and a dry run predict the result, and write nothing."""

from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import transaction

from common.transactions import NetworkInTransaction
from feeds.adding.add import alter_feed
from feeds.adding.preview import PAGE_WITHOUT_FEED, POSTS_PREVIEWED, NoPreview, Preview, preview
from feeds.items.dry_run import FAILED, READ, UNCHANGED, DryRun, DryRunRow, dry_run
from feeds.models import Feed, FeedDocument, Item
from feeds.rules.plan import THERE_BEFORE
from tests.feeds.watched import ADDED, Blog, at, post
from tests.servers.documents import rss
from tests.servers.feed_server import FeedServer, Reply, Request

pytestmark = pytest.mark.django_db

PING = {"min_delay_minutes": 0, "await_stabilization_minutes": 0, "max_delay_minutes": 0}
HTML = {"Content-Type": "text/html"}


def shown(blog: Blog, start: str = "from_now", count: int = 0, **options: Any) -> Preview:
    url = blog.server.url(blog.path)
    return preview(url, start=start, start_count=count, now=ADDED, **options)


def sent(document: Preview) -> list[str]:
    return [one.title for one in document.posts if one.is_sent]


def dated(name: str, hours: float, **changes: Any) -> dict[str, Any]:
    return post(name, published=ADDED - timedelta(hours=hours), **changes)


def test_it_shows_what_the_feed_says_of_itself(blog: Blog) -> None:
    blog.show("b", "a", title="Ada’s <b>Blog</b>", link="https://ada.example/", language="en-GB")
    document = shown(blog)
    assert (document.title, document.site, document.language) == (
        "Ada’s Blog",
        "https://ada.example/",
        "en-GB",
    )
    assert (document.format, document.total, document.warnings) == ("RSS 2.0", 2, ())


@pytest.mark.parametrize(
    ("start", "count", "expected"),
    [("from_now", 0, []), ("last", 2, ["Post d", "Post c"]), ("last", 9, "dcba"), ("all", 0, "dcba")],
)
def test_what_it_says_is_sent_is_what_is_sent_when_the_feed_is_added(
    blog: Blog, start: str, count: int, expected: str | list[str]
) -> None:
    blog.show(dated("b", 30), dated("a", 40), dated("d", 1), dated("c", 2))
    document = shown(blog, start, count)
    assert sent(document) == [name if " " in name else f"Post {name}" for name in expected]
    assert document.sent == len(expected)
    blog.watch(start=start, start_count=count)
    blog.read(0)
    assert {f"Post {guid}" for guid, state in blog.states().items() if state == "unassigned"} == set(
        sent(document)
    )


def test_posts_are_ranked_as_the_last_n_counts_them(blog: Blog) -> None:
    blog.show(dated("b", 30), dated("a", 40), dated("d", 1), dated("c", 2))
    document = shown(blog)
    assert [(one.title, one.rank) for one in document.posts] == [
        ("Post d", 1),
        ("Post c", 2),
        ("Post b", 3),
        ("Post a", 4),
    ]
    for number in range(1, 5):
        assert sent(shown(blog, "last", number)) == [
            one.title for one in document.posts if one.rank <= number
        ]


def test_each_post_says_what_becomes_of_it(blog: Blog) -> None:
    blog.show("a")
    (one,) = shown(blog).posts
    assert one.is_sent_by_all
    assert "settles in 31 minutes" in one.sent
    assert one.settles == at(31)
    assert one.stays == "Not sent: it was already in the feed when the feed was added."


def test_a_feed_that_pings_settles_its_posts_at_once(blog: Blog) -> None:
    blog.show("a")
    (one,) = shown(blog, "all", **PING).posts
    assert one.settles is None
    assert one.sent.startswith("Ready")


def test_a_post_is_shown_with_its_authors_date_picture_and_text(blog: Blog) -> None:
    media = [{"url": "https://x.test/a.png", "type": "image/png"}]
    blog.show(dated("a", 1, authors=["Ada", "Bob"], media=media, content="<p>Hello <b>you</b>.</p>"))
    (one,) = shown(blog).posts
    assert (one.title, one.link, one.authors) == ("Post a", "https://blog.example.org/a", ("Ada", "Bob"))
    assert (one.published, one.image) == (ADDED - timedelta(hours=1), "https://x.test/a.png")
    assert one.excerpt == "<p>Hello <b>you</b>.</p>"


def test_html_is_made_safe_absolute_and_short(blog: Blog) -> None:
    text = '<script>alert(1)</script><p onclick="x()"><a href="/b">b</a><img src="/c.png" onerror="x()"></p>'
    blog.show(post("a", content=text + "<p>word</p>" * 500))
    excerpt = shown(blog).posts[0].excerpt
    assert "<script" not in excerpt
    assert "onclick" not in excerpt
    assert "onerror" not in excerpt
    assert 'href="https://blog.example.org/b"' in excerpt
    assert '<img loading="lazy" referrerpolicy="no-referrer" src="https://blog.example.org/c.png">' in excerpt
    assert excerpt.count("word") < 100


@pytest.mark.slow
def test_an_excerpt_of_long_html_is_made_in_a_moment(blog: Blog) -> None:
    blog.show(*(post(str(n), content="<b>" * 5_000 + "&amp" * 5_000) for n in range(POSTS_PREVIEWED)))
    assert len(shown(blog).posts) == POSTS_PREVIEWED


def test_twenty_posts_are_shown_and_the_others_counted(blog: Blog) -> None:
    blog.show(*map(str, range(50)))
    document = shown(blog, "all")
    assert (len(document.posts), document.more, document.sent) == (POSTS_PREVIEWED, 30, 50)


def test_odd_things_in_the_feed_are_told(blog: Blog) -> None:
    blog.show("a", "a")
    assert "guid of an earlier one" in shown(blog).warnings[0]


def test_a_web_page_has_no_preview(blog: Blog) -> None:
    blog.serve("<html><body>Hello</body></html>", headers=HTML)
    with pytest.raises(NoPreview, match="web page"):
        shown(blog)
    assert "web page" in PAGE_WITHOUT_FEED


def test_what_the_server_refuses_is_told_with_its_status(blog: Blog) -> None:
    blog.serve("no", status=401)
    with pytest.raises(NoPreview, match="user name") as refused:
        shown(blog)
    assert refused.value.status == 401


def test_what_cannot_be_reached_is_told(blog: Blog, server: FeedServer) -> None:
    server.stop()
    with pytest.raises(NoPreview, match="refuses connections") as refused:
        shown(blog)
    assert refused.value.status is None


def test_credentials_are_sent_along(blog: Blog) -> None:
    def reply(request: Request) -> Reply:
        known = request.headers.get("authorization") == "Basic YWRhOnNlY3JldA=="
        return Reply(rss([post("a")])) if known else Reply(b"", 401)

    blog.server.answer(blog.path, reply)
    assert shown(blog, credentials={"user": "ada", "password": "secret"}).total == 1


def test_a_wrong_address_is_refused(db: None) -> None:
    with pytest.raises(ValidationError):
        preview("ftp://x.test/", now=ADDED)


def test_a_preview_stores_nothing(blog: Blog) -> None:
    blog.show("a")
    shown(blog, "all")
    assert not Feed.objects.exists()
    assert not Item.objects.exists()


# --- the dry run


def run(blog: Blog, minutes: float) -> DryRun:
    return dry_run(feed_id=blog.feed.pk, clock=lambda: at(minutes))


def rows(done: DryRun) -> dict[str, DryRunRow]:
    return {row.guid: row for row in done.rows}


def events(done: DryRun) -> dict[str, str]:
    return {row.guid: row.event for row in done.rows}


def everything() -> str:
    """Return all rows that a poll writes."""
    items = Item.objects.order_by("pk").values_list()
    return repr([*Feed.objects.values_list(), *items, *FeedDocument.objects.values_list()])


def test_the_first_reading_is_forecast_as_the_adding(blog: Blog) -> None:
    blog.show("b", "a")
    blog.watch(start="last", start_count=1)
    before = everything()
    done = run(blog, 0)
    assert everything() == before
    assert (done.outcome, done.is_first) == (READ, True)
    assert events(done) == {"b": "new", "a": "not taken"}
    assert rows(done)["a"].fate == "Not sent: it was already in the feed when the feed was added."
    assert rows(done)["b"].settles == at(31)


def test_it_says_of_every_post_what_the_next_reading_does(blog: Blog) -> None:
    blog.show("settled", "edited", "retracted", "older", "oldest")
    blog.watch(start="all")
    blog.read(0)
    Item.objects.filter(guid="settled").update(stable_since=at(-100), first_seen=at(-100))
    blog.show("fresh", "settled", post("edited", title="Edited"), "older")
    before = everything()
    done = run(blog, 10)
    assert everything() == before
    assert events(done) == {
        "fresh": "new",
        "settled": "settles",
        "edited": "changed",
        "retracted": "withdrawn",
        "older": "unchanged",
        "oldest": "rolled off",
    }
    assert rows(done)["edited"].settles == at(31)
    assert rows(done)["edited"].title == "Edited"
    assert rows(done)["retracted"].fate.startswith("Not sent: it was removed")
    assert rows(done)["oldest"].fate.endswith("the stored copy is sent.")
    blog.read(10)
    assert blog.final() == {"settled"}
    assert blog.item("retracted").vanished_at


def test_what_happens_stands_above_what_stays(blog: Blog) -> None:
    blog.show("b", "a")
    blog.watch(start="all")
    blog.read(0)
    blog.show("c", "b", post("a", title="New words"))
    assert [row.event for row in run(blog, 10).rows] == ["new", "changed", "unchanged"]


def test_an_answer_of_not_modified_is_forecast_from_the_kept_document(blog: Blog) -> None:
    document = rss([post("b"), post("a")])

    def reply(request: Request) -> Reply:
        known = request.headers.get("if-none-match") == '"1"'
        return Reply(b"", 304) if known else Reply(document, headers={"ETag": '"1"'})

    blog.server.answer(blog.path, reply)
    blog.watch(start="last", start_count=1)
    blog.read(0)
    done = run(blog, 40)
    assert (done.outcome, done.status) == (UNCHANGED, 304)
    assert events(done) == {"b": "settles", "a": "unchanged"}
    assert rows(done)["a"].fate == "Not sent: it was already in the feed when the feed was added."
    assert rows(done)["a"].title == "Post a"


def test_the_same_bytes_again_are_unchanged(blog: Blog) -> None:
    blog.show("a")
    blog.watch(start="all")
    blog.read(0)
    done = run(blog, 10)
    assert (done.outcome, done.status) == (UNCHANGED, 200)
    assert events(done) == {"a": "unchanged"}
    assert "settles in 21 minutes" in rows(done)["a"].fate


def test_a_withdrawn_post_that_is_back_is_forecast_as_new(blog: Blog) -> None:
    blog.show("b", "a")
    blog.watch(start="all")
    blog.read(0)
    blog.show("a")
    blog.read(10)
    blog.show("b", "a")
    assert events(run(blog, 20))["b"] == "back"


def test_a_flood_is_forecast_as_held(blog: Blog) -> None:
    blog.show("a")
    blog.watch()
    blog.read(0)
    blog.show(*(f"n{number}" for number in range(12)), "a")
    done = run(blog, 10)
    assert dict(done.events) == {"held": 12, "unchanged": 1}
    assert rows(done)["n0"].settles is None


def test_a_post_that_was_sent_stays_as_it_is(blog: Blog) -> None:
    blog.show("a")
    blog.watch(start="all")
    blog.read(0)
    Item.objects.update(state="cleared", entry=None)
    blog.show(post("a", title="New words"))
    assert rows(run(blog, 10))["a"].fate.startswith("Done")


def test_a_failure_is_told_and_not_counted(blog: Blog) -> None:
    blog.watch()
    blog.serve("gone", status=410)
    done = run(blog, 0)
    assert (done.outcome, done.status) == (FAILED, 410)
    assert "410" in done.error
    feed = Feed.objects.get()
    assert (feed.failures, feed.status) == (0, "active")


def test_a_paused_feed_can_be_asked_too(blog: Blog) -> None:
    blog.show("a")
    blog.watch(start="all")
    alter_feed(feed=blog.feed, status="paused")
    assert "its feed isn’t being read" in rows(run(blog, 0))["a"].fate


def test_a_dry_run_asks_nothing_inside_a_transaction(blog: Blog) -> None:
    blog.watch()
    with pytest.raises(NetworkInTransaction), transaction.atomic():
        run(blog, 0)


def test_a_dry_run_before_and_after_a_reading_tells_the_reason_that_was_stored(blog: Blog) -> None:
    blog.show("a")
    blog.watch()
    run(blog, 0)
    blog.read(0)
    assert blog.item("a").reason == THERE_BEFORE
