"""Features of all API resources: entity tags, rate limits, counts, dates, and no caching."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache

from feeds.models import Feed
from subscriptions.models import Notice, Subscription, Suppression
from subscriptions.subscribers.tags import tags_of
from tests.api import Api, problem
from tests.factories import NOW, FeedFactory, SubscribableFactory, SubscriptionFactory, UnconfirmedFactory

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def fresh_limits() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


class TestEntityTags:
    def test_what_is_unchanged_is_not_sent_again(self) -> None:
        api, feed = Api(), FeedFactory()
        tag = api.get(f"feeds/{feed.pk}/").headers["ETag"]
        for known in (tag, f"W/{tag}", f'"other", {tag}', "*"):
            again = api.client.get(f"/api/v1/feeds/{feed.pk}/", headers={"If-None-Match": known})
            assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", tag)
        Feed.objects.update(title="Another")
        changed = api.client.get(f"/api/v1/feeds/{feed.pk}/", headers={"If-None-Match": tag})
        assert changed.status_code == 200
        assert changed.headers["ETag"] != tag

    def test_a_change_is_made_only_of_what_the_program_has_seen(self) -> None:
        api, feed = Api(), FeedFactory(title="First")
        path = f"/api/v1/feeds/{feed.pk}/"
        tag = api.client.get(path).headers["ETag"]

        def rename(title: str, known: str) -> int:
            answer = api.client.patch(
                path, {"title": title}, content_type="application/json", headers={"If-Match": known}
            )
            return answer.status_code

        assert rename("Second", tag) == 200
        assert rename("Third", tag) == 412
        assert rename("Fourth", "*") == 200
        feed.refresh_from_db()
        assert feed.title == "Fourth"
        refused = api.client.delete(path, headers={"If-Match": tag})
        assert "changed meanwhile" in problem(refused, 412)["detail"]
        assert Feed.objects.exists()
        current = api.client.get(path).headers["ETag"]
        assert api.client.delete(path, headers={"If-Match": current}).status_code == 204

    def test_a_change_that_is_refused_changes_nothing(self) -> None:
        api, newsletter = Api(), SubscribableFactory()
        path = f"/api/v1/subscribables/{newsletter.name}/"
        tag = api.client.get(path).headers["ETag"]
        answer = api.client.patch(
            path, {"title": "New", "cron": "x"}, content_type="application/json", headers={"If-Match": tag}
        )
        assert answer.status_code == 422
        assert api.client.get(path).headers["ETag"] == tag


def test_answers_say_how_many_requests_are_left_and_are_kept_by_no_cache() -> None:
    api = Api()
    first, second = api.get("feeds/"), api.get("feeds/")
    assert first.headers["Cache-Control"] == "no-store"
    limit, left = int(first.headers["RateLimit-Limit"]), int(first.headers["RateLimit-Remaining"])
    assert left == limit - 1
    assert int(second.headers["RateLimit-Remaining"]) == left - 1
    assert 0 < int(first.headers["RateLimit-Reset"]) <= 60
    for answer in (api.get("feeds/99/"), api.get("feeds/", wrong=1)):
        assert answer.headers["Cache-Control"] == "no-store"
        assert "RateLimit-Remaining" in answer.headers


def test_lists_are_narrowed_by_when_rows_were_made_and_counted_when_asked() -> None:
    old, new = FeedFactory(added_at=NOW - timedelta(days=3)), FeedFactory(added_at=NOW)
    api = Api()
    assert api.ids("feeds/", created_after=NOW.isoformat()) == [new.pk]
    assert api.ids("feeds/", created_before=NOW.isoformat()) == [old.pk]
    page = api.get("feeds/", page_size=1, count="true").json()
    assert (page["count"], len(page["results"])) == (2, 1)
    assert "count" not in api.get("feeds/").json()
    assert "offset" in problem(api.get("feeds/", created_after="2026-03-01"), 400)["detail"]
    for path in (
        "items",
        "subscribables",
        "subscriptions",
        "destinations",
        "letters",
        "issues",
        "deliveries",
    ):
        listed = api.get(f"{path}/", created_after=NOW.isoformat(), count="true")
        assert listed.json()["count"] == len(listed.json()["results"]), path


class TestAddingSubscribers:
    def test_tags_are_added_to_those_of_the_person(self) -> None:
        api, newsletter = Api(), SubscribableFactory()
        for tags in (["news"], ["Vip", "News"]):
            body = {"subscribable": newsletter.name, "to": {"email": "ada@example.org"}, "confirmed": True}
            answer = api.post("subscriptions/", **body, tags=tags)
        assert answer.json()["tags"] == ["Vip", "news"]
        assert "tags" in problem(api.post("subscriptions/", **body, tags=["a" * 200]), 400)["detail"]

    def test_several_are_added_each_as_by_itself(self) -> None:
        api, bridge = Api(), SubscribableFactory(channel="mastodon")
        weekly = SubscribableFactory(name="weekly")
        there = SubscriptionFactory(subscribable=weekly)
        asked = [
            {
                "to": {"email": "new@example.org"},
                "confirmed": True,
                "tags": ["vip"],
                "subscribable": "weekly",
            },
            {"to": {"email": "nobody"}, "subscribable": "weekly"},
            {"to": {"email": there.destination.label}, "subscribable": "weekly"},
            {"to": {"email": "c@example.org"}, "subscribable": "none"},
            {"to": {"server_url": "https://x.example"}, "subscribable": bridge.name},
            {"to": {"email": "waits@example.org"}, "subscribable": "weekly"},
        ]
        answer = api.post("subscriptions/bulk/", subscriptions=asked)
        rows = answer.json()
        assert [row["status"] for row in rows] == [201, 422, 200, 422, 422, 201]
        assert [bool(row["detail"]) for row in rows] == [False, True, False, True, True, False]
        new = Subscription.objects.get(pk=rows[0]["id"])
        assert (new.status, tags_of([new.destination_id])) == ("confirmed", {new.destination_id: ["vip"]})
        assert rows[2]["id"] == there.pk
        assert Subscription.objects.get(pk=rows[5]["id"]).status == "unconfirmed"
        again = api.post("subscriptions/bulk/", subscriptions=asked).json()
        assert [row["status"] for row in again] == [200, 422, 200, 422, 422, 200]

    def test_many_new_ones_take_few_statements_and_are_as_if_added_alone(
        self, django_assert_max_num_queries: Any
    ) -> None:
        api, newsletter, other = Api(), SubscribableFactory(name="weekly"), SubscribableFactory(name="daily")
        Suppression.objects.create(kind="email", core="never@example.org")
        both = {"to": {"email": "both@example.org"}, "subscribable": "weekly"}
        asked = [
            {
                "to": {"email": f"new{place}@example.org", "name": "New"},
                "subscribable": "weekly",
                "confirmed": place % 2 == 0,
                "language": "de",
                "tags": ["vip"] if place % 3 else [],
            }
            for place in range(60)
        ]
        with django_assert_max_num_queries(130):
            rows = api.post("subscriptions/bulk/", subscriptions=asked).json()
        assert {row["status"] for row in rows} == {201}
        api.post("subscriptions/", **{**asked[0], "to": {"email": "alone@example.org", "name": "New"}})
        api.post("subscriptions/", **{**asked[1], "to": {"email": "asks@example.org", "name": "New"}})
        alike = ("status", "display_name", "language", "subscribable", "asked_name", "left_at", "ended_at")
        for place, email in ((0, "alone@example.org"), (1, "asks@example.org")):
            one = Subscription.objects.get(pk=rows[place]["id"])
            alone = Subscription.objects.get(destination__core=email)
            assert [getattr(one, f"{name}") for name in alike] == [getattr(alone, name) for name in alike]
            assert bool(one.confirmed_at) is bool(alone.confirmed_at) is not bool(one.confirm_nonce)
            acts = [list(each.consents.values_list("act", "how", "words")) for each in (one, alone)]
            assert acts[0] == acts[1]
            assert Notice.objects.filter(subscription=one).count() == place
        tagged = tags_of(Subscription.objects.values_list("destination_id", flat=True))
        assert len(tagged) == 41
        mixed = [
            both,
            {**both, "subscribable": "daily"},
            both,
            {**both, "to": {"email": "never@example.org"}},
        ]
        again = api.post("subscriptions/bulk/", subscriptions=mixed).json()
        assert [row["status"] for row in again] == [201, 201, 200, 422]
        assert newsletter.subscriptions.count() == 63
        assert other.subscriptions.count() == 1

    def test_a_body_of_too_many_or_with_wrong_fields_is_refused_whole(self) -> None:
        row = {"to": {"email": "a@example.org"}, "subscribable": SubscribableFactory().name}
        problem(Api().post("subscriptions/bulk/", subscriptions=[row] * 501), 400)
        refused = problem(Api().post("subscriptions/bulk/", subscriptions=[row, {**row, "x": 1}]), 400)
        assert refused["errors"][0]["field"] == "subscriptions.1.x"
        assert not Subscription.objects.exists()


def test_refusals_name_what_a_program_can_do() -> None:
    api, newsletter = Api(), UnconfirmedFactory().subscribable
    assert "?force=true" in problem(api.delete(f"subscribables/{newsletter.name}/"), 409)["detail"]
    letter = api.post("letters/", subscribable=newsletter.name, subject="A", markdown="b").json()
    api.patch(f"letters/{letter['id']}/", subject="B")
    stale = api.patch(f"letters/{letter['id']}/", subject="C", version=letter["version"])
    assert "window" not in problem(stale, 409)["detail"]
    wrong = problem(api.post(f"letters/{letter['id']}/test/", to="nobody"), 422)
    assert wrong["errors"][0]["field"] == "to"
