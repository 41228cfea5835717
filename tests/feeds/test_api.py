from datetime import datetime
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from rest_framework.authtoken.models import Token

from feeds.models import Feed
from tests.factories import NOW, FeedFactory, ItemFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(User.objects.create_user("ada", is_staff=True))
    return client


def test_feeds_have_the_words_of_the_commands(staff: Client) -> None:
    feed = FeedFactory(failures=1, last_error="It is gone.")
    page: dict[str, Any] = staff.get("/api/v1/feeds/").json()
    assert page["count"] == 1
    (row,) = page["results"]
    assert (row["id"], row["url"], row["title"], row["status"], row["last_error"]) == (
        feed.pk,
        feed.url,
        feed.title,
        "failing",
        "It is gone.",
    )
    assert datetime.fromisoformat(row["next_poll_at"]) == NOW
    assert staff.get(f"/api/v1/feeds/{feed.pk}/").json() == row


def test_items_are_filtered(staff: Client) -> None:
    item = ItemFactory(state="excluded")
    ItemFactory(feed=item.feed)
    ItemFactory()
    rows = staff.get(f"/api/v1/items/?feed={item.feed.pk}&state=excluded").json()["results"]
    assert [row["id"] for row in rows] == [item.pk]
    assert {"feed", "guid", "link", "first_seen", "stable_since", "last_checked"} <= set(rows[0])
    assert "entry" not in rows[0]


@pytest.mark.parametrize("query", ["feed=abc", "feed=%00", f"feed={'9' * 40}", "state=lost", "feed=1e3"])
def test_a_filter_that_makes_no_sense_is_a_400(staff: Client, query: str) -> None:
    assert staff.get(f"/api/v1/items/?{query}").status_code == 400


def test_pages_are_bounded(staff: Client) -> None:
    FeedFactory.create_batch(3)
    page = staff.get("/api/v1/feeds/?limit=2&offset=1").json()
    assert (page["count"], len(page["results"])) == (3, 2)


def test_nobody_gets_more_than_a_thousand_at_once(staff: Client) -> None:
    Feed.objects.bulk_create(Feed(url=f"https://x.test/{n}") for n in range(1001))
    assert len(staff.get("/api/v1/feeds/?limit=5000").json()["results"]) == 1000


def test_a_token_of_staff_opens_the_api_and_a_readers_does_not(client: Client) -> None:
    staff = Token.objects.create(user=User.objects.create_user("ada", is_staff=True))
    other = Token.objects.create(user=User.objects.create_user("eve"))

    def status(token: Token) -> int:
        return client.get("/api/v1/feeds/", headers={"Authorization": f"Token {token.key}"}).status_code

    assert (status(staff), status(other)) == (200, 403)
    assert client.get("/api/v1/feeds/").status_code == 401


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete"])
def test_the_api_only_reads(staff: Client, method: str) -> None:
    feed = FeedFactory()
    assert getattr(staff, method)(f"/api/v1/feeds/{feed.pk}/").status_code == 405
    assert staff.post("/api/v1/feeds/", {"url": "https://x.test/"}).status_code == 405
