"""Deleting feeds in the admin: the effect is shown before."""

import pytest
from django.test import Client

from feeds.models import Feed
from subscriptions.panels import users_of_feeds
from tests.factories import BridgeFactory, FeedFactory, ItemFactory, SubscribableFactory

pytestmark = pytest.mark.django_db
LIST = "/admin/feeds/feed/"


def test_what_is_on_its_way_goes_out_first_and_the_page_says_so(admin_client: Client) -> None:
    read, idle = FeedFactory(title="Harbour"), FeedFactory(title="Quiet")
    SubscribableFactory(feeds=[read])
    ItemFactory(feed=read, state="assigned")
    ItemFactory(feed=read)
    asked = {"action": "drop", "_selected_action": [read.pk, idle.pk]}
    said = admin_client.post(LIST, asked).content.decode()
    assert "“Harbour” is deleted, with its 2 posts. 1 post waiting in next issues" in said
    assert "“Quiet” is deleted, with its 0 posts. 0 newsletters" in said
    admin_client.post(LIST, {**asked, "confirmed": "1"})
    assert list(Feed.objects.values_list("title", "dropping")) == [("Harbour", True)]


def test_the_list_of_feeds_says_who_uses_each(admin_client: Client) -> None:
    both = FeedFactory(read_by=3)
    SubscribableFactory(feeds=[both])
    SubscribableFactory(feeds=[both])
    BridgeFactory(feeds=[both])
    unused = FeedFactory()
    assert users_of_feeds([both, unused]) == {
        both.pk: "2 newsletters · 1 bridge · 3 readers",
        unused.pk: "nobody",
    }
    assert "2 newsletters · 1 bridge · 3 readers" in admin_client.get("/admin/feeds/feed/").content.decode()
