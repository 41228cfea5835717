"""A post is edited when its feed corrects it, and deleted when it is withdrawn.

Edited and deleted posts on pages and in commands.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.test import Client

from delivery.bridges.corrections import _letter_of
from delivery.models import Correction, Delivery, Issue
from feeds.models import Feed, Item, ItemPage, TrackedItem
from subscriptions.models import Subscribable
from tests.console import json_of, printed
from tests.delivery.corrected import BOTH, OLD, BridgedBlog, an_account, changes, dated
from tests.feeds.watched import at
from tests.servers.feed_server import FeedServer
from tests.servers.mastodon_instance import MastodonInstance

PAGE_A = dated("a", 10, title="Bees")
pytestmark = pytest.mark.django_db(transaction=True)
A = dated("a", 10, title="Bee hotels")
CORRECTED = dated("a", 10, title="Bee hotels, corrected")
AGAIN = dated("a", 10, title="Bee hotels, corrected again")


@pytest.fixture
def blog(loopback_allowed: None) -> Iterator[BridgedBlog]:
    with FeedServer() as server:
        made = BridgedBlog(server)
        made.watch()
        made.read(0)
        yield made


def posted(blog: BridgedBlog, instance: MastodonInstance, **options: Any) -> None:
    """Send post A."""
    an_account(blog.bridge(**options), instance)
    blog.new(A)
    blog.pass_by(20, 40, 60)
    assert "Bee hotels https" in instance.statuses[0]["text"]
    instance.requests.clear()


def writes(instance: MastodonInstance) -> list[str]:
    return [request.method for request in instance.requests if request.method != "GET"]


def test_a_correction_edits_the_post_once(blog: BridgedBlog, instance: MastodonInstance) -> None:
    posted(blog, instance, **BOTH)
    blog.new(CORRECTED)
    blog.pass_by(70, 80)
    assert writes(instance) == []
    blog.pass_by(90, 100, 110)
    [status] = instance.statuses
    assert "Bee hotels, corrected https" in status["text"]
    assert writes(instance) == ["PUT"]
    assert changes() == [("edit", "sent", "")]


def test_an_edit_keeps_the_text_of_the_posts_page(blog: BridgedBlog, instance: MastodonInstance) -> None:
    posted(blog, instance, **BOTH)
    issue = Issue.objects.get()
    row = issue.issue_items.get()
    changed = {**dict(row.entry), "title": "New title", "content": "<p>Excerpt</p>"}
    assert "Excerpt" in str(_letter_of(issue, Correction(issue=issue, entry=changed)))
    ItemPage.objects.create(item_id=row.item_id or 0, asked_at=at(0), readings=1)
    letter = str(_letter_of(issue, Correction(issue=issue, entry=changed)))
    assert "New title" in letter
    assert "Excerpt" not in letter


@pytest.mark.slow
def test_a_correction_of_the_correction_edits_it_again(blog: BridgedBlog, instance: MastodonInstance) -> None:
    posted(blog, instance, **BOTH)
    blog.new(CORRECTED)
    blog.pass_by(70, 80, 90)
    blog.new(AGAIN)
    blog.pass_by(100, 110, 120, 130)
    assert "corrected again" in instance.statuses[0]["text"]
    assert writes(instance) == ["PUT", "PUT"]
    assert list(Correction.objects.values_list("number", flat=True)) == [1, 2]


@pytest.mark.slow
def test_a_correction_that_is_taken_back_is_edited_back(
    blog: BridgedBlog, instance: MastodonInstance
) -> None:
    posted(blog, instance, **BOTH)
    blog.new(CORRECTED)
    blog.pass_by(70, 80, 90)
    blog.new(A)
    blog.pass_by(100, 110, 120, 130)
    assert "Bee hotels https" in instance.statuses[0]["text"]
    assert writes(instance) == ["PUT", "PUT"]


@pytest.mark.slow
def test_what_does_not_come_to_rest_is_no_correction(blog: BridgedBlog, instance: MastodonInstance) -> None:
    posted(blog, instance, **BOTH)
    for minute in range(70, 200, 10):
        blog.new(dated("a", 10, title=f"Bee hotels, read {minute} times"))
        blog.pass_by(minute)
    assert writes(instance) == []
    assert changes() == []


@pytest.mark.slow
def test_a_correction_of_what_the_bridge_does_not_show_asks_for_nothing(
    blog: BridgedBlog, instance: MastodonInstance
) -> None:
    posted(blog, instance, **BOTH)
    blog.new({**A, "content": "<p>another text</p>"})
    blog.pass_by(70, 80, 90, 100)
    assert instance.requests == []
    assert changes() == [("edit", "cancelled", "The text of the bridge’s post has not changed.")]


@pytest.mark.slow
def test_after_a_day_nothing_is_done(blog: BridgedBlog, instance: MastodonInstance) -> None:
    posted(blog, instance, **BOTH)
    day = 24 * 60 + 60
    blog.new(CORRECTED)
    blog.pass_by(day + 10, day + 40, day + 50)
    blog.new()
    blog.pass_by(day + 60, day + 130, day + 200)
    assert (writes(instance), changes()) == ([], [])
    blog.pass_by(day + 8 * 60)
    assert not TrackedItem.objects.exists()


@pytest.mark.slow
def test_without_the_options_nothing_is_asked_and_nothing_written(
    blog: BridgedBlog, instance: MastodonInstance
) -> None:
    posted(blog, instance)
    blog.new(CORRECTED)
    blog.pass_by(70, 80, 90, 100)
    blog.new()
    blog.pass_by(110, 120, 180, 190)
    assert instance.requests == []
    assert not Correction.objects.exists()
    assert not TrackedItem.objects.exists()
    assert Feed.objects.get().tracked_until is None
    assert changes() == []


def test_what_is_withdrawn_is_deleted_after_an_hour(blog: BridgedBlog, instance: MastodonInstance) -> None:
    posted(blog, instance, **BOTH)
    blog.new()
    blog.pass_by(70, 80, 100, 120)
    assert writes(instance) == []
    blog.pass_by(130, 140, 150)
    assert instance.statuses == []
    assert writes(instance) == ["DELETE"]
    assert changes() == [("delete", "sent", "")]
    assert not TrackedItem.objects.exists()


@pytest.mark.slow
def test_only_what_was_chosen_is_done(blog: BridgedBlog, instance: MastodonInstance) -> None:
    posted(blog, instance, delete_withdrawn="on")
    blog.new(CORRECTED)
    blog.pass_by(70, 80, 90, 100)
    assert writes(instance) == []
    blog.new()
    blog.pass_by(110, 150, 180)
    assert writes(instance) == ["DELETE"]


@pytest.mark.slow
def test_a_post_that_is_back_within_the_hour_stays(blog: BridgedBlog, instance: MastodonInstance) -> None:
    posted(blog, instance, **BOTH)
    for minute in range(70, 400, 40):
        blog.new()
        blog.pass_by(minute, minute + 10)
        blog.new(A)
        blog.pass_by(minute + 20)
    assert writes(instance) == []
    assert changes() == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "shown",
    [
        pytest.param([], id="empty"),
        pytest.param([dated("b", 65)], id="only what is new"),
        pytest.param(OLD[3:], id="shrunk to its end"),
        pytest.param([dated("b", 65), OLD[-1]], id="one old post is pinned"),
        pytest.param([dated(f"x{n}", -n) for n in range(5)], id="another site's"),
        pytest.param([{**one, "published": "soon"} for one in OLD], id="without dates"),
        pytest.param([OLD[2], OLD[0], *OLD[3:], OLD[1]], id="in no order"),
    ],
)
def test_a_feed_that_shows_less_deletes_nothing(
    blog: BridgedBlog, instance: MastodonInstance, shown: list[dict[str, Any]]
) -> None:
    posted(blog, instance, **BOTH)
    blog.show(*shown)
    blog.pass_by(70, 80, 130, 140, 150, 210)
    assert "DELETE" not in writes(instance)
    assert changes() == []


@pytest.mark.slow
def test_a_feed_that_fails_deletes_nothing(blog: BridgedBlog, instance: MastodonInstance) -> None:
    posted(blog, instance, **BOTH)
    for status in (404, 410, 500):
        blog.serve(b"gone", status=status)
        for minute in (70, 80, 150, 160):
            blog.poll(minute + status)
            blog.work(minute + status)
    assert writes(instance) == []


@pytest.fixture
def bridge(loopback_allowed: None, instance: MastodonInstance) -> Iterator[Subscribable]:
    """Return a bridge: post a edited, b changed only invisibly, c deleted, d unchanged."""
    with FeedServer() as server:
        blog = BridgedBlog(server)
        blog.watch()
        blog.read(0)
        made = blog.bridge(**BOTH)
        an_account(made, instance)
        posts = {name: dated(name, number, title=f"Post {name}") for number, name in enumerate("dcba", 1)}
        newest = [posts[name] for name in "abcd"]
        blog.new(*newest)
        blog.pass_by(20, 40, 60, 62, 64)
        assert len(instance.statuses) == 4
        newest[0] = {**posts["a"], "title": "Post a, corrected"}
        newest[1] = {**posts["b"], "content": "<p>other</p>"}
        del newest[2]
        blog.new(*newest)
        blog.pass_by(70, 90, 92, 140, 142)
        assert len(instance.statuses) == 3
        yield made


def text_of(client: Client, url: str) -> str:
    answer = client.get(url, follow=True)
    assert answer.status_code == 200
    return BeautifulSoup(answer.content, "html.parser").get_text(" ", strip=True)


def delivery_of(name: str) -> Delivery:
    return Delivery.objects.get(kind="issue", issue__issue_items__item__guid=name)


@pytest.mark.slow
def test_the_pages_say_what_was_done_and_why_not(bridge: Subscribable, admin_client: Client) -> None:
    page = text_of(admin_client, f"/admin/subscriptions/subscribable/{bridge.pk}/change/")
    assert "edited once" in page
    assert "its edit was left out: The text of the bridge’s post has not changed." in page
    assert "deleted" in page
    post = delivery_of("a")
    page = text_of(admin_client, f"/admin/delivery/delivery/{post.pk}/change/")
    assert "Changes after posting" in page
    assert "edit of a post" in page
    edit = Delivery.objects.get(kind="edit", state="sent")
    assert str(post) in text_of(admin_client, f"/admin/delivery/delivery/{edit.pk}/change/")
    page = text_of(admin_client, f"/admin/delivery/issue/{delivery_of('c').issue_id}/change/")
    assert "Withdrawn from its feed" in page
    assert "deleted" in page
    page = text_of(admin_client, f"/admin/delivery/issue/{delivery_of('d').issue_id}/change/")
    assert "Changes after posting" not in page
    item = Item.objects.get(guid="a")
    page = text_of(admin_client, f"/admin/feeds/item/{item.pk}/change/")
    assert f"Since then, in {bridge}: edited once." in page


@pytest.mark.slow
def test_the_commands_say_it_too(bridge: Subscribable) -> None:
    post = delivery_of("a")
    shown = json_of("show_delivery", str(post.pk))
    assert [(row["kind"], row["state"]) for row in shown["changed_by"]] == [("edit", "sent")]
    assert json_of("show_delivery", str(shown["changed_by"][0]["id"]))["changes"] == post.pk
    assert "edited once" in printed("show_delivery", str(post.pk))
    item = Item.objects.get(guid="c")
    assert json_of("show_item", str(item.pk))["fate"].endswith(f"Since then, in {bridge}: deleted.")


@pytest.mark.slow
def test_the_archive_shows_a_post_as_it_was_sent(bridge: Subscribable, client: Client) -> None:
    for issue in Issue.objects.all():
        page = text_of(client, f"/s/{bridge.name}/archive/{issue.pk}/")
        assert "corrected" not in page
        assert "Post" in page
