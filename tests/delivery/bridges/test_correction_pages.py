"""Edited and deleted posts on pages and in commands."""

from collections.abc import Iterator

import pytest
from bs4 import BeautifulSoup
from django.test import Client

from delivery.models import Delivery, Issue
from feeds.models import Item
from subscriptions.models import Subscribable
from tests.console import json_of, printed
from tests.delivery.corrected import BOTH, BridgedBlog, an_account, dated
from tests.servers.feed_server import FeedServer
from tests.servers.mastodon_instance import MastodonInstance

pytestmark = pytest.mark.django_db(transaction=True)

A = dated("a", 10, title="Bees")


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
