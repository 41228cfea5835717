"""Feeds and posts in the API: list, add, change, remove, exclude, and include again."""

from datetime import datetime
from typing import Any

import pytest

from feeds.models import Feed, Item
from feeds.tags import tag_feeds
from tests.api import Api, fields, problem
from tests.factories import (
    NOW,
    AssignmentFactory,
    FeedDocumentFactory,
    FeedFactory,
    FinalItemFactory,
    ItemFactory,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def api() -> Api:
    return Api("feeds:write")


def test_feeds_have_the_words_of_the_commands(api: Api) -> None:
    feed = FeedFactory(failures=1, last_error="It is gone.")
    page: dict[str, Any] = api.get("feeds/").json()
    assert (page["next"], page["previous"]) == (None, None)
    (row,) = page["results"]
    assert (row["id"], row["url"], row["title"], row["status"], row["last_error"]) == (
        feed.pk,
        feed.url,
        feed.title,
        "failing",
        "It is gone.",
    )
    assert datetime.fromisoformat(row["next_poll_at"]) == NOW
    assert api.get(f"feeds/{feed.pk}/").json() == row


def test_feeds_are_filtered_and_searched(api: Api) -> None:
    one, two, three = FeedFactory(failures=1, title="Äpfel"), FeedFactory(status="paused"), FeedFactory()
    tag_feeds(feeds=[one.pk, two.pk], names=["News", "Tech"])
    assert api.ids("feeds/", tag="news") == [one.pk, two.pk]
    assert api.ids("feeds/", tag="unknown") == []
    assert api.ids("feeds/", status="failing") == [one.pk]
    assert api.ids("feeds/", status="paused", tag="Tech") == [two.pk]
    assert api.ids("feeds/", status="active") == [three.pk]
    assert api.ids("feeds/", search="Äpf") == [one.pk]
    assert api.ids("feeds/", search=three.url.upper()) == [three.pk]
    assert api.ids("feeds/", search="%") == []
    assert fields(api.get("feeds/", tag="\0")) == ["tag"]


def test_a_page_takes_as_many_queries_for_twenty_as_for_one(
    api: Api, django_assert_max_num_queries: Any
) -> None:
    for feed in FeedFactory.create_batch(20):
        tag_feeds(feeds=[feed.pk], names=["News", f"tag {feed.pk}"])
    api.get("feeds/")
    with django_assert_max_num_queries(3):
        assert len(api.ids("feeds/")) == 20
    with django_assert_max_num_queries(3):
        api.get("items/")


@pytest.mark.parametrize(
    "secrets", [{"user": "ada-lovelace", "password": "geheim"}, {"header": "X-Key", "value": "geheim"}]
)
def test_credentials_are_taken_and_never_told(secrets: dict[str, str]) -> None:
    api = Api()
    made = api.post("feeds/", url="https://blog.example/feed", credentials=secrets)
    assert (made.status_code, made.json()["needs_credentials"]) == (201, True)
    feed = Feed.objects.get()
    assert feed.credentials.open() == secrets
    ItemFactory(feed=feed)
    told = made.content.decode() + "".join(
        api.get(path).content.decode() for path in ("feeds/", f"feeds/{feed.pk}/", "items/", "subscribables/")
    )
    assert not any(word in told for word in ("geheim", "ada-lovelace", "X-Key", feed.credentials.token))
    assert api.patch(f"feeds/{feed.pk}/", credentials={}).json()["needs_credentials"] is False


def test_a_feed_is_added_with_its_settings_and_due_at_once(api: Api) -> None:
    answer = api.post(
        "feeds/",
        url="https://blog.example/feed.xml",
        title="A blog",
        tags=["news"],
        pace="adaptive",
        min_delay_minutes=0,
        hold_floods=False,
        start="last",
        start_count=3,
    )
    row = answer.json()
    assert (answer.status_code, answer.headers["Location"]) == (
        201,
        f"http://testserver/api/v1/feeds/{row['id']}/",
    )
    assert (row["title"], row["tags"], row["pace"], row["min_delay_minutes"], row["hold_floods"]) == (
        "A blog",
        ["news"],
        "adaptive",
        0,
        False,
    )
    feed = Feed.objects.get(pk=row["id"])
    assert (feed.start, feed.start_count) == ("last", 3)
    assert feed.next_poll_at == feed.added_at


def test_a_feed_is_added_once(api: Api) -> None:
    there = FeedFactory(url="http://blog.example/feed")
    told = problem(api.post("feeds/", url=" https://blog.example/feed".strip()), 409)
    assert f"Feed {there.pk} has this address" in told["detail"]
    assert Feed.objects.count() == 1


@pytest.mark.parametrize(
    ("body", "named", "status"),
    [
        ({}, "url", 400),
        ({"url": "ftp://x.test/"}, "url", 400),
        ({"url": "https:///feed"}, "url", 422),
        ({"url": "https://x.test/", "titel": "x"}, "titel", 400),
        ({"url": "https://x.test/", "status": "paused"}, "status", 400),
        ({"url": "https://x.test/", "start": "last"}, "start_count", 422),
        (
            {"url": "https://x.test/", "min_delay_minutes": 99, "max_delay_minutes": 1},
            "max_delay_minutes",
            422,
        ),
        ({"url": "https://x.test/", "tags": ["a,b"]}, "tags", 422),
        ({"url": "https://x.test/", "credentials": {"user": "a", "header": "b"}}, "credentials", 422),
        ({"url": "https://x.test/", "credentials": {"pass": "a"}}, "credentials.pass", 400),
    ],
)
def test_what_cannot_be_a_feed_is_refused_at_its_field(
    api: Api, body: dict[str, Any], named: str, status: int
) -> None:
    assert fields(api.post("feeds/", **body), status) == [named]
    assert not Feed.objects.exists()


def test_a_feed_is_changed_in_what_is_named_and_nothing_else(api: Api) -> None:
    feed = FeedFactory(title="Old")
    row = api.patch(f"feeds/{feed.pk}/", status="paused", tags=["b", "a"]).json()
    assert (row["status"], sorted(row["tags"]), row["title"]) == ("paused", ["a", "b"], "Old")
    assert api.patch(f"feeds/{feed.pk}/").json() == row
    assert fields(api.patch(f"feeds/{feed.pk}/", max_delay_minutes=1), 422) == ["max_delay_minutes"]


def test_a_feed_with_posts_on_their_way_goes_only_when_forced(api: Api) -> None:
    feed = FeedFactory()
    FinalItemFactory(feed=feed)
    path = f"feeds/{feed.pk}/"
    assert "1 post" in problem(api.delete(path), 409)["detail"]
    assert "1 post" in problem(api.delete(f"{path}?force=false"), 409)["detail"]
    later = api.delete(f"{path}?force=true")
    assert (later.status_code, "once its last 1 post" in later.json()["detail"]) == (202, True)
    assert api.get(path).json()["dropping"] is True


def test_a_feed_without_goes_at_once(api: Api) -> None:
    feed = FeedFactory()
    answer = api.delete(f"feeds/{feed.pk}/")
    assert (answer.status_code, answer.content) == (204, b"")
    problem(api.delete(f"feeds/{feed.pk}/"), 404)


def test_a_feed_is_read_soon(api: Api) -> None:
    feed = FeedFactory(next_poll_at=datetime.fromisoformat("2099-01-01T00:00:00Z"))
    row = api.post(f"feeds/{feed.pk}/poll/")
    assert (row.status_code, row.json()["next_poll_why"]) == (202, "hurry")


@pytest.mark.parametrize(("decision", "state"), [("send", "unassigned"), ("exclude", "excluded")])
def test_held_posts_get_the_word_they_wait_for(api: Api, decision: str, state: str) -> None:
    item = ItemFactory(feed=FeedFactory(held_since=NOW), held_at=NOW)
    ItemFactory(feed=item.feed, state="cleared")
    assert api.ids("items/", held="true") == [item.pk]
    assert fields(api.post(f"feeds/{item.feed.pk}/held/", decision="wait")) == ["decision"]
    assert api.post(f"feeds/{item.feed.pk}/held/", decision=decision).json()["held_since"] is None
    item.refresh_from_db()
    assert (item.state, item.held_at) == (state, None)


def test_items_are_filtered_and_tell_no_text(api: Api) -> None:
    item = ItemFactory(state="excluded", title="Über alles")
    ItemFactory(feed=item.feed)
    ItemFactory()
    assert api.ids("items/", feed=item.feed.pk, state="excluded") == [item.pk]
    assert api.ids("items/", search="Über") == [item.pk]
    row = api.get(f"items/{item.pk}/").json()
    assert {"feed", "guid", "link", "first_seen", "stable_since", "last_checked"} <= set(row)
    assert "entry" not in row


def test_a_post_is_excluded_until_it_is_on_its_way(api: Api) -> None:
    item = AssignmentFactory().item
    row = api.post(f"items/{item.pk}/exclude/", reason="An advertisement.").json()
    assert (row["state"], row["reason"]) == ("excluded", "An advertisement.")
    assert api.post(f"items/{item.pk}/exclude/").json() == row
    sent = ItemFactory(state="cleared")
    assert "has gone out" in problem(api.post(f"items/{sent.pk}/exclude/"), 409)["detail"]


def test_a_post_is_taken_back_only_while_its_feed_has_it(api: Api) -> None:
    item = ItemFactory(state="excluded")
    FeedDocumentFactory(feed=item.feed)
    assert "no longer in the feed" in problem(api.post(f"items/{item.pk}/include/"), 409)["detail"]
    sent = ItemFactory(state="cleared")
    assert "is not excluded" in problem(api.post(f"items/{sent.pk}/include/"), 409)["detail"]
    assert Item.objects.get(pk=item.pk).state == "excluded"


@pytest.mark.parametrize("path", ["feeds/{}/", "items/{}/"])
def test_what_is_not_offered_is_not_allowed(api: Api, path: str) -> None:
    item = ItemFactory()
    problem(api.client.put(f"/api/v1/{path.format(item.pk)}"), 405)
    problem(api.delete(f"items/{item.pk}/"), 405)
    problem(api.post("items/"), 405)
