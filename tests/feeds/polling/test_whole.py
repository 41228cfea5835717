"""Posts of feeds with excerpts get the text of their page, before they are final."""

import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

from common.net.client import client
from feeds.items.held import release
from feeds.models import Feed, Host, Item, ItemPage, TrackedItem
from feeds.polling import whole
from feeds.polling.page_text import NoPage, robots_texts, whole_text
from feeds.polling.whole import due_pages, read_pages
from feeds.rules.whole import PAID, SHORT
from tests.feeds.watched import Blog, at, post
from tests.servers.feed_server import FeedServer

pytestmark = pytest.mark.django_db

PING = {"min_delay_minutes": 0, "await_stabilization_minutes": 0, "max_delay_minutes": 0}
HTML = {"Content-Type": "text/html; charset=utf-8"}
TEXT = "<p>The keeper wrote each evening of ships, of gulls, and of the oil that the lamp had burnt.</p>" * 6
EXCERPT = "<p>The keeper wrote …</p>"


@pytest.fixture(autouse=True)
def no_robots_known() -> Iterator[None]:
    robots_texts.clear()
    yield
    robots_texts.clear()


@pytest.fixture
def excerpts(blog: Blog) -> Blog:
    blog.show("old")
    blog.watch(**PING, fetch_whole=True)
    blog.read(0)
    return blog


def page(text: str = TEXT, head: str = "") -> str:
    return f"<html><head>{head}</head><body><nav>Home</nav><article>{text}</article></body></html>"


def publish(blog: Blog, name: str = "new", text: str = page(), **reply: Any) -> dict[str, Any]:
    reply.setdefault("headers", HTML)
    return post(name, link=blog.server.serve(f"/{name}", text, **reply), content=EXCERPT)


def first(blog: Blog, new: dict[str, Any], minutes: float = 10) -> None:
    """Read the feed with the post, and its page."""
    blog.show(new, "old")
    blog.read(minutes)
    read(minutes)


def read(minutes: float) -> int:
    return read_pages(clock=lambda: at(minutes))


def content(blog: Blog, guid: str = "new") -> str:
    entry = blog.item(guid).entry
    assert entry is not None
    return str(entry["content"])


def note(blog: Blog, guid: str = "new") -> str:
    row = ItemPage.objects.get(item=blog.item(guid))
    assert row.due_at is None
    return row.note


def test_a_post_is_final_once_its_page_was_read(excerpts: Blog) -> None:
    new = publish(excerpts)
    excerpts.show(new, "old")
    excerpts.read(10)
    hash_ = excerpts.item("new").content_hash
    assert (excerpts.item("new").final_at, excerpts.final()) == (at(10), set())
    assert read(10) == 1
    assert excerpts.final() == {"new"}
    assert "of gulls" in content(excerpts)
    assert "Home" not in content(excerpts)
    assert excerpts.item("new").content_hash == hash_
    (request,) = excerpts.server.asked("/new")
    assert "cookie" not in request.headers
    assert read(99) == 0


def test_only_the_child_process_loads_the_library() -> None:
    import_module("requests")
    assert [sys.modules.get(name) for name in ("chardet", "readability")] == [None] * 2


def test_feeds_without_the_setting_ask_for_no_page(blog: Blog) -> None:
    blog.show("old")
    blog.watch(**PING)
    blog.read(0)
    first(blog, publish(blog))
    assert blog.final() == {"new"}
    assert not ItemPage.objects.exists()


def test_a_feed_that_no_longer_wants_it_waits_no_longer(excerpts: Blog) -> None:
    excerpts.show(publish(excerpts), "old")
    excerpts.read(10)
    Feed.objects.update(fetch_whole=False)
    assert read(10) == 0
    assert excerpts.final() == {"new"}
    assert content(excerpts) == EXCERPT


@pytest.mark.parametrize("status", [401, 402, 403, 404, 410])
def test_a_page_that_is_refused_is_given_up_at_once(excerpts: Blog, status: int) -> None:
    first(excerpts, publish(excerpts, status=status))
    assert f"HTTP {status}" in note(excerpts)
    assert excerpts.final() == {"new"}
    assert content(excerpts) == EXCERPT


def test_a_paid_text_and_a_notice_leave_the_excerpt(excerpts: Blog) -> None:
    paid = page(head='<script type="application/ld+json">{"isAccessibleForFree": false}</script>')
    first(excerpts, publish(excerpts, "paid", paid))
    assert note(excerpts, "paid") == PAID
    first(excerpts, publish(excerpts, "notice", page("<p>Subscribe to read this post.</p>")), 20)
    assert note(excerpts, "notice") == SHORT
    assert content(excerpts, "notice") == EXCERPT


def test_a_broken_server_is_asked_three_times(excerpts: Blog) -> None:
    first(excerpts, publish(excerpts, status=503))
    assert excerpts.final() == set()
    assert (read(11), read(15), read(40), read(80), read(500)) == (0, 1, 0, 1, 0)
    assert len(excerpts.server.asked("/new")) == 3
    assert "HTTP 503" in note(excerpts)
    assert excerpts.final() == {"new"}


def test_a_page_that_was_not_read_for_six_hours_is_given_up(excerpts: Blog) -> None:
    excerpts.show(publish(excerpts), "old")
    excerpts.read(10)
    read(10 + 6 * 60)
    assert excerpts.final() == {"new"}
    assert not excerpts.server.asked("/new")


def test_robots_txt_is_asked_once_an_hour_and_obeyed(excerpts: Blog) -> None:
    excerpts.server.serve("/robots.txt", "User-agent: Feedletter\nDisallow: /private")
    first(excerpts, publish(excerpts, "private"))
    assert "robots.txt" in note(excerpts, "private")
    first(excerpts, publish(excerpts, "public"), 20)
    assert note(excerpts, "public") == ""
    assert not excerpts.server.asked("/private")
    assert len(excerpts.server.asked("/robots.txt")) == 1


def test_a_robots_txt_that_fails_delays_the_page(excerpts: Blog) -> None:
    excerpts.server.serve("/robots.txt", status=500)
    first(excerpts, publish(excerpts))
    assert not excerpts.server.asked("/new")
    assert excerpts.final() == set()


def test_robots_txt_counts_where_a_redirect_leads(excerpts: Blog) -> None:
    excerpts.server.serve("/robots.txt", "User-agent: *\nDisallow: /hidden")
    excerpts.server.serve("/hidden", page(), headers=HTML)
    first(excerpts, publish(excerpts, status=302, headers={"Location": "/hidden"}))
    assert "robots.txt" in note(excerpts)


def test_a_redirect_to_a_log_in_or_a_private_network_is_refused(excerpts: Blog) -> None:
    excerpts.server.serve("/login", page(), headers=HTML)
    first(excerpts, publish(excerpts, status=302, headers={"Location": "/login?next=new"}))
    assert "log-in" in note(excerpts)
    inside = {"Location": "http://192.168.7.7/admin"}
    first(excerpts, publish(excerpts, "inside", status=302, headers=inside), 20)
    assert "192.168.7.7" in note(excerpts, "inside")


def test_the_feeds_password_is_not_sent_to_the_page(blog: Blog) -> None:
    blog.show("old")
    blog.watch(**PING, fetch_whole=True, credentials={"user": "ada", "password": "secret"})
    blog.read(0)
    first(blog, publish(blog))
    (request,) = blog.server.asked("/new")
    assert "authorization" not in request.headers


def test_a_host_gets_one_page_every_ten_seconds(excerpts: Blog) -> None:
    excerpts.show(publish(excerpts, "a"), publish(excerpts, "b"), "old")
    excerpts.read(10)
    assert [read(10 + seconds / 60) for seconds in (0, 5, 10.5)] == [1, 0, 1]
    assert excerpts.final() == {"a", "b"}
    assert not Host.objects.filter(free_at__gt=at(10)).exists(), "its feeds don't wait"


@pytest.mark.parametrize(
    "hostile", ["<div><p>a, b" * 150_000, "<" * 1_999_000, "<p>a,b,c</p>" * 160_000, "x" * 2_100_000]
)
@pytest.mark.slow
def test_a_hostile_page_gives_no_text_once_and_for_all(server: FeedServer, hostile: str) -> None:
    # Without a query before it: PostgreSQL would end a transaction that waits for a slow machine.
    url = server.serve("/new", hostile, headers=HTML)
    with pytest.raises(NoPage, match=f"{SHORT}|larger than") as refused:
        whole_text(url, title="", excerpt=EXCERPT, http=client())
    assert not refused.value.passes


def test_an_error_of_ours_leaves_the_excerpt(excerpts: Blog, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any, **kwargs: Any) -> str:
        raise ZeroDivisionError

    monkeypatch.setattr(whole, "whole_text", fail)
    first(excerpts, publish(excerpts))
    assert "ZeroDivisionError" in note(excerpts)
    assert excerpts.final() == {"new"}


def test_a_changed_excerpt_has_the_page_read_again_and_keeps_its_text_until_then(excerpts: Blog) -> None:
    new = publish(excerpts)
    first(excerpts, new)
    publish(excerpts, text=page(TEXT.replace("gulls", "terns")))
    excerpts.show({**new, "title": "New title"}, "old")
    excerpts.read(20)
    assert (excerpts.item("new").title, "gulls" in content(excerpts)) == ("New title", True)
    assert read(20) == 1
    assert "terns" in content(excerpts)


def test_a_changed_page_alone_is_no_correction(excerpts: Blog) -> None:
    new = publish(excerpts)
    first(excerpts, new)
    item = excerpts.item("new")
    TrackedItem.objects.create(item=item, until=at(999), content_hash=item.content_hash)
    Feed.objects.update(tracked_until=at(999))
    publish(excerpts, text=page(TEXT.replace("gulls", "terns")))
    excerpts.show(new, "old", title="Another title of the feed")
    excerpts.read(20)
    assert read(20) == 0
    assert not TrackedItem.objects.unsettled().exists()
    assert not TrackedItem.objects.with_news().exists()


def test_a_page_that_was_refused_is_not_asked_for_at_every_change(excerpts: Blog) -> None:
    new = publish(excerpts, status=403)
    first(excerpts, new)
    for minutes in (20, 30, 9999):
        first(excerpts, {**new, "title": f"At {minutes}"}, minutes)
    assert len(excerpts.server.asked("/new")) == 2


def test_held_posts_are_read_when_they_are_released(excerpts: Blog) -> None:
    flood = [publish(excerpts, f"new{number}") for number in range(12)]
    excerpts.show(*flood, "old")
    assert excerpts.read(10).held == 12
    assert read(10) == 0
    release(now=at(20), item_ids=[excerpts.item("new3").pk])
    assert read(20) == 1
    assert "gulls" in content(excerpts, "new3")


def test_links_that_lead_nowhere_wait_for_nothing(excerpts: Blog) -> None:
    excerpts.show(post("new", link="mailto:a@x.test", content=EXCERPT), "old")
    excerpts.read(10)
    assert excerpts.final() == {"new"}


def test_rows_of_deleted_posts_are_no_work(excerpts: Blog) -> None:
    excerpts.show(publish(excerpts), "old")
    excerpts.read(10)
    # As the previous release does.
    Item.objects.filter(guid="new")._raw_delete("default")
    assert read(10) == 0
    assert not due_pages(at(99)).exists()


def test_posts_that_are_only_read_here_get_their_text(
    excerpts: Blog, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts: dict[int, str] = {}
    monkeypatch.setattr(whole, "page_takers", [texts.__setitem__])
    Feed.objects.update(read_by=1, for_letters=False)
    first(excerpts, publish(excerpts))
    item = excerpts.item("new")
    assert item.state == Item.State.EXCLUDED
    assert "gulls" in texts[item.pk]
