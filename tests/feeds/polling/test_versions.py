"""Versions of posts that change once they are final, and the cost without any change."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from feeds.items.history import is_gone, prune_versions, rewordings
from feeds.models import Feed, Item, ItemVersion
from feeds.polling import versions
from feeds.rules.changes import written
from tests.console import json_of, printed
from tests.feeds.watched import Blog, at, post
from tests.servers.feed_server import FeedServer

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loopback_allowed")]

OLD = [post(f"old{number}", published=at(-60 * (number + 1))) for number in range(4)]


def a(text: str, **changes: Any) -> dict[str, Any]:
    return post("a", **{"published": at(5), "content": f"<p>{text}</p>", **changes})


FIRST, CORRECTED = a("The bee sleeps."), a("The bees <b>sleep</b>.", title="Bees")


@pytest.fixture
def blog() -> Iterator[Blog]:
    """Serve a blog whose post a was sent and cleared."""
    with FeedServer() as server:
        made = Blog(server)
        made.show(*OLD)
        made.watch()
        made.read(0)
        made.show(FIRST, *OLD)
        made.read(10)
        made.read(50)
        Item.objects.filter(guid="a").update(state="cleared", entry=None, content_hash="")
        yield made


def reworded(blog: Blog) -> list[str]:
    return [written(each.parts) for each in rewordings(blog.item("a").pk, limit=10)]


def test_a_change_of_words_keeps_both_texts(blog: Blog) -> None:
    blog.show(CORRECTED, *OLD)
    blog.read(60)
    assert reworded(blog) == ["[-Post a-]{+Bees+}\nThe [-bee sleeps-]{+bees sleep+}."]
    blog.show(a("The bees sleep well.", title="Bees"), *OLD)
    blog.read(70)
    assert reworded(blog)[0] == "Bees\nThe bees sleep{+ well+}."
    assert list(ItemVersion.objects.values_list("seen_at", flat=True)) == [at(50), at(60), at(70)]


def test_markup_dates_and_what_is_not_final_make_no_version(blog: Blog) -> None:
    blog.show(a("The <i>bee</i> sleeps.", published=at(6)), post("b"), *OLD)
    blog.read(60)
    blog.show(a("The bee sleeps."), post("b", content="not yet final"), *OLD)
    blog.read(61)
    assert not ItemVersion.objects.exists()


def test_posts_that_stay_cost_no_query_and_no_parsing(blog: Blog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "kept_feed", lambda document: pytest.fail("parsed"))
    with CaptureQueriesContext(connection) as asked:
        blog.read(60)
        blog.show(post("new"), FIRST, *OLD)
        blog.read(70)
    assert not [query["sql"] for query in asked if "itemversion" in query["sql"]]


def test_versions_are_bounded(blog: Blog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "MOST_VERSIONS", 3)
    monkeypatch.setattr(versions, "LONGEST", 60)
    for number in range(5):
        blog.show(a(f"Seen {number} times."), *OLD)
        blog.read(60 + number)
    blog.show(a("x" * 100), *OLD)
    blog.read(70)
    assert reworded(blog)[0] == "Post a\nSeen [-0-]{+4+} times."
    assert ItemVersion.objects.count() == 3
    assert prune_versions(now=at(63) + timedelta(days=90), batch=1) == 2
    assert reworded(blog) == []


def test_a_post_that_only_readers_get_keeps_versions(blog: Blog) -> None:
    Item.objects.filter(guid="a").update(state="excluded", reason="only read", final_at=None)
    Feed.objects.update(read_by=1)
    blog.show(CORRECTED, *OLD)
    blog.read(60)
    assert len(reworded(blog)) == 1


def test_a_post_is_gone_while_older_ones_remain(blog: Blog) -> None:
    assert not is_gone(blog.item("a"))
    blog.show(*OLD)
    blog.read(60)
    assert is_gone(blog.item("a"))
    blog.show(OLD[0])
    blog.read(70)
    assert not is_gone(blog.item("a"))


def test_the_posts_page_and_command_show_what_changed(blog: Blog, admin_client: Client) -> None:
    pk = blog.item("a").pk
    address = reverse("admin:feeds_item_change", args=[pk])
    assert "What changed" not in admin_client.get(address).content.decode()
    blog.show(a("The <b>bees</b> &lt;b&gt; sleep."), *OLD)
    blog.read(60)
    page = admin_client.get(address).content.decode()
    assert '<ins><span class="unseen">[added] </span>bees &lt;b&gt; sleep</ins>' in page
    assert json_of("show_item", str(pk))["changes"][0]["parts"][1] == ["removed", "bee sleeps"]
    assert "[-bee sleeps-]{+bees <b> sleep+}" in printed("show_item", str(pk))
