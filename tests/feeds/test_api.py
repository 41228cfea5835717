from datetime import datetime
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from rest_framework.authtoken.models import Token

from feeds.models import Feed
from feeds.services.tagging import tag_feeds
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


def test_feeds_are_filtered_by_tag_and_status(staff: Client) -> None:
    one, two, three = FeedFactory(failures=1), FeedFactory(status="paused"), FeedFactory()
    tag_feeds(feeds=[one.pk, two.pk], names=["News", "Tech"])

    def listed(query: str) -> list[int]:
        return [row["id"] for row in staff.get(f"/api/v1/feeds/?{query}").json()["results"]]

    assert listed("tag=news") == [one.pk, two.pk]
    assert listed("tag=unknown") == []
    assert listed("status=failing") == [one.pk]
    assert listed("status=paused&tag=Tech") == [two.pk]
    assert listed("status=active") == [three.pk]
    assert staff.get("/api/v1/feeds/?status=lost").status_code == 400
    assert staff.get("/api/v1/feeds/?tag=%00").status_code == 200


def test_a_feed_has_its_settings_and_what_is_known_of_its_pace(staff: Client) -> None:
    feed = FeedFactory(pace="adaptive", rhythm_minutes=90, next_poll_why="rhythm", held_since=NOW)
    tag_feeds(feeds=[feed.pk], names=["News"])
    row = staff.get(f"/api/v1/feeds/{feed.pk}/").json()
    assert (row["tags"], row["pace"], row["ceiling_minutes"], row["rhythm_minutes"]) == (
        ["News"],
        "adaptive",
        60,
        90,
    )
    assert (row["next_poll_why"], row["status"]) == ("rhythm", "held")
    assert (row["hold_floods"], row["join_reposts"], row["use_hub"]) == (True, True, True)
    assert datetime.fromisoformat(row["held_since"]) == NOW


def test_tags_of_a_page_are_fetched_together(staff: Client, django_assert_max_num_queries: Any) -> None:
    for feed in FeedFactory.create_batch(20):
        tag_feeds(feeds=[feed.pk], names=["News", f"tag {feed.pk}"])
    with django_assert_max_num_queries(6):
        assert len(staff.get("/api/v1/feeds/").json()["results"]) == 20


def test_an_item_says_since_when_it_is_held(staff: Client) -> None:
    item = ItemFactory(held_at=NOW)
    assert datetime.fromisoformat(staff.get(f"/api/v1/items/{item.pk}/").json()["held_at"]) == NOW


@pytest.mark.parametrize(
    "secrets", [{"user": "ada-lovelace", "password": "geheim"}, {"header": "X-Key", "value": "geheim"}]
)
def test_no_credentials_are_told(staff: Client, secrets: dict[str, str]) -> None:
    feed = FeedFactory(credentials=secrets)
    item = ItemFactory(feed=feed)
    token = Feed.objects.get(pk=feed.pk).credentials.token
    pages = ["feeds/", f"feeds/{feed.pk}/", "items/", f"items/{item.pk}/", "subscribables/"]
    told = "".join(staff.get(f"/api/v1/{page}").content.decode() for page in pages)
    assert not any(text in told for text in ("geheim", "ada-lovelace", "X-Key", token, '"credentials"'))
    assert staff.get(f"/api/v1/feeds/{feed.pk}/").json()["needs_credentials"] is True
