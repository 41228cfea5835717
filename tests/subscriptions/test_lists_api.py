"""Newsletters, subscribers and addresses in the API."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from common.clock import utcnow
from subscriptions.branding.brands import site_settings
from subscriptions.models import Consent, Destination, Notice, Subscribable, Subscription
from tests.api import Api, fields, problem
from tests.factories import (
    NOW,
    AssignableFactory,
    BridgeFactory,
    DailyFactory,
    DestinationFactory,
    FeedFactory,
    LeftFactory,
    SubscribableFactory,
    SubscriptionFactory,
    SuppressionFactory,
    UnconfirmedFactory,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def api() -> Api:
    return Api("newsletters:write", "subscribers:write")


def test_subscribables_have_the_words_of_the_commands(api: Api) -> None:
    daily = DailyFactory(name="my.json", feeds=2)
    SubscriptionFactory(subscribable=daily)
    UnconfirmedFactory(subscribable=daily)
    row = api.get("subscribables/my.json/").json()
    assert (row["name"], row["arrangement"], row["channel"], row["time_zone"]) == (
        "my.json",
        "daily",
        "email",
        "UTC",
    )
    assert (row["subscribers"], row["open"], len(row["feeds"])) == (1, 0, 2)
    assert row["next_close"].endswith("T00:00:00Z")
    assert (row["at"], row["weekday"]) == ("00:00", "monday")
    assert api.get("subscribables/").json()["results"] == [row]


def test_subscribables_are_counted_right_with_many_of_each(
    api: Api, django_assert_max_num_queries: Any
) -> None:
    newsletter = DailyFactory(feeds=3)
    SubscriptionFactory.create_batch(4, subscribable=newsletter)
    for hours in (2, 1):
        start = NOW - timedelta(days=2)
        AssignableFactory(
            subscribable=newsletter, period_start=start, period_end=start + timedelta(hours=hours)
        )
    SubscribableFactory.create_batch(5)
    api.get("subscribables/")
    with django_assert_max_num_queries(3):
        rows = api.get("subscribables/").json()["results"]
    assert (rows[0]["subscribers"], rows[0]["open"]) == (4, 2)
    assert datetime.fromisoformat(rows[0]["next_close"]) == NOW - timedelta(days=2) + timedelta(hours=1)


def test_subscribables_are_filtered_and_searched(api: Api) -> None:
    daily, bridge = DailyFactory(title="Der Tag"), BridgeFactory(visibility="private", stopped=True)
    assert api.ids("subscribables/", arrangement="daily") == [daily.pk]
    assert api.ids("subscribables/", channel="mastodon") == [bridge.pk]
    assert api.ids("subscribables/", visibility="public") == [daily.pk]
    assert api.ids("subscribables/", feed=daily.feeds.get().pk) == [daily.pk]
    assert api.ids("subscribables/", stopped="true") == [bridge.pk]
    assert api.ids("subscribables/", search="tag") == [daily.pk]


def test_a_newsletter_is_defined_changed_and_removed(api: Api) -> None:
    feed = FeedFactory()
    answer = api.post(
        "subscribables/",
        name="weekly",
        feeds=[feed.pk],
        title="The Weekly",
        arrangement="weekly",
        at="07:30",
        weekday="friday",
        time_zone="Europe/Berlin",
        params={"Editor": "Ada"},
    )
    assert (answer.status_code, answer.headers["Location"]) == (
        201,
        "http://testserver/api/v1/subscribables/weekly/",
    )
    row = answer.json()
    assert (row["at"], row["weekday"], row["params"], row["feeds"]) == (
        "07:30",
        "friday",
        {"Editor": "Ada"},
        [feed.pk],
    )
    made = Subscribable.objects.get(name="weekly")
    assert (made.weekday, made.at.hour) == (4, 7)
    other = FeedFactory()
    changed = api.patch("subscribables/weekly/", arrangement="every_n", n=3, feeds=[other.pk]).json()
    assert (changed["n"], changed["feeds"], changed["title"]) == (3, [other.pk], "The Weekly")
    renamed = api.patch("subscribables/weekly/", name="often").json()
    assert renamed["name"] == "often"
    assert api.delete("subscribables/often/").status_code == 204
    problem(api.get("subscribables/often/"), 404)


def test_a_newsletter_on_several_weekdays_is_told_with_its_days_and_in_words(api: Api) -> None:
    days = {"weekdays": ["thursday", "monday"], "at": "18:00"}
    row = api.post(
        "subscribables/", name="twice", feeds=[FeedFactory().pk], arrangement="weekly", **days
    ).json()
    assert (row["arrangement"], row["cron"]) == ("cron", "0 18 * * 1,4")
    assert row["weekdays"] == ["monday", "thursday"]
    assert row["rhythm"] == "every Monday and Thursday at 18:00, UTC"
    changed = api.patch("subscribables/twice/", weekdays=["friday"]).json()
    assert (changed["arrangement"], changed["weekdays"], changed["at"]) == ("weekly", ["friday"], "18:00")


@pytest.mark.parametrize(
    ("body", "named", "status"),
    [
        ({"name": "a b"}, "name", 400),
        ({"arrangement": "weekly", "weekdays": []}, "weekdays", 400),
        ({"feeds": []}, "feeds", 400),
        ({"feeds": [999_999]}, "feeds", 422),
        ({"weekday": 5}, "weekday", 400),
        ({"arrangement": "weekly", "at": "25:00"}, "at", 400),
        ({"at": "07:00"}, "at", 422),
        ({"arrangement": "cron", "cron": "x"}, "cron", 422),
        ({"channel": "pigeon"}, "channel", 422),
        ({"params": {"not a word": "x"}}, "params", 422),
        ({"embed_hosts": "*.com"}, "embed_hosts", 422),
        ({"counter": 5}, "counter", 400),
        ({"title": "two\nlines"}, "title", 422),
    ],
)
def test_what_cannot_be_a_newsletter_is_refused_at_its_field(
    api: Api, body: dict[str, Any], named: str, status: int
) -> None:
    whole = {"name": "weekly", "feeds": [FeedFactory().pk], **body}
    assert fields(api.post("subscribables/", **whole), status) == [named]
    assert not Subscribable.objects.exists()


def test_a_newsletter_with_subscribers_goes_only_when_forced(api: Api) -> None:
    newsletter = SubscriptionFactory().subscribable
    path = f"subscribables/{newsletter.name}/"
    assert "1 subscriber" in problem(api.delete(path), 409)["detail"]
    assert api.delete(f"{path}?force=true").status_code == 204


def test_subscriptions_are_filtered_and_tell_no_token(api: Api) -> None:
    one = SubscriptionFactory(display_name="Ada")
    UnconfirmedFactory(subscribable=one.subscribable)
    SubscriptionFactory()
    answer = api.get("subscriptions/", subscribable=one.subscribable.name, status="confirmed")
    (row,) = answer.json()["results"]
    assert (row["id"], row["name"], row["status"], row["confirmed"]) == (one.pk, "Ada", "confirmed", True)
    assert (row["subscribable"], row["destination"]) == (one.subscribable.name, one.destination.pk)
    assert row["address"] == one.destination.label
    assert one.token not in answer.content.decode()
    assert api.ids("subscriptions/", search="ada") == [one.pk]
    assert api.ids("subscriptions/", destination=one.destination.pk) == [one.pk]


def test_people_have_tags_and_are_found_by_them(api: Api) -> None:
    row = SubscriptionFactory()
    SubscriptionFactory()
    changed = api.patch(f"subscriptions/{row.pk}/", tags=["Press", "press", "vip"])
    assert changed.json()["tags"] == ["Press", "vip"]
    assert api.ids("subscriptions/?tag=PRESS") == [row.pk]
    assert api.patch(f"subscriptions/{row.pk}/", tags=["a,b"]).status_code == 422
    assert api.patch(f"subscriptions/{row.pk}/", tags=[]).json()["tags"] == []


def test_an_address_is_found_as_it_is_kept(api: Api) -> None:
    one = SubscriptionFactory(destination=DestinationFactory(core="ada@example.org"))
    SubscriptionFactory()
    assert api.ids("subscriptions/", address="Ada@EXAMPLE.org") == [one.pk]
    assert api.ids("destinations/", address="Ada@EXAMPLE.org") == [one.destination.pk]
    assert api.ids("subscriptions/", address="no address") == []


def test_a_page_of_subscribers_takes_two_questions(api: Api, django_assert_max_num_queries: Any) -> None:
    SubscriptionFactory.create_batch(10)
    api.get("subscriptions/")
    with django_assert_max_num_queries(3):
        assert len(api.ids("subscriptions/")) == 10
    with django_assert_max_num_queries(2):
        assert len(api.ids("destinations/")) == 10


def test_a_suppressed_subscriber_is_told_as_such(api: Api) -> None:
    one = SubscriptionFactory()
    SuppressionFactory(core=one.destination.core)
    assert api.get(f"subscriptions/{one.pk}/").json()["status"] == "suppressed"


def test_a_subscriber_is_asked_by_mail_and_only_once(api: Api) -> None:
    newsletter = SubscribableFactory()
    body = {"subscribable": newsletter.name, "to": {"email": "Ada <ada@example.org>"}}
    first, second = (api.post("subscriptions/", **body) for _ in range(2))
    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json() == second.json()
    assert (first.json()["status"], first.json()["name"]) == ("unconfirmed", "Ada")
    assert first.headers["Location"].endswith(f"/subscriptions/{first.json()['id']}/")
    assert Notice.objects.filter(kind="confirmation").count() == 1


def test_a_websites_server_with_a_token_may_pass_on_as_many_as_come(api: Api) -> None:
    newsletter = SubscribableFactory()
    for number in range(40):
        to = {"email": f"reader{number}@example.org"}
        assert api.post("subscriptions/", subscribable=newsletter.name, to=to).status_code == 201
    assert Notice.objects.filter(kind="confirmation").count() == 40


def test_a_subscriber_who_agreed_already_is_added_as_such(api: Api) -> None:
    newsletter = SubscribableFactory()
    waiting = UnconfirmedFactory(subscribable=newsletter)
    for core, status in ((waiting.destination.core, 200), ("new@example.org", 201)):
        answer = api.post(
            "subscriptions/", subscribable=newsletter.name, to={"email": core}, confirmed=True, language="de"
        )
        assert (answer.status_code, answer.json()["confirmed"], answer.json()["language"]) == (
            status,
            True,
            "de",
        )
    assert Consent.objects.filter(act="added").count() == 2
    assert not Notice.objects.filter(kind="confirmation").exists()


def test_who_had_left_is_taken_back_only_when_asked(api: Api) -> None:
    gone = LeftFactory()
    answer = api.post(
        "subscriptions/", subscribable=gone.subscribable.name, to={"email": gone.destination.core}
    )
    assert (answer.status_code, answer.json()["status"]) == (200, "unconfirmed")


@pytest.mark.parametrize(
    ("body", "named", "status"),
    [
        ({"to": {"email": "nonsense"}}, "to.email", 422),
        ({"to": {}}, "to", 422),
        ({"to": "ada@example.org"}, "to", 400),
        ({"subscribable": "nowhere"}, "subscribable", 422),
        ({"language": "no language"}, "language", 400),
        ({"confirmed": "yes"}, "confirmed", 400),
    ],
)
def test_what_cannot_be_a_subscriber_is_refused_at_its_field(
    api: Api, body: dict[str, Any], named: str, status: int
) -> None:
    whole = {"subscribable": SubscribableFactory().name, "to": {"email": "ada@example.org"}, **body}
    assert fields(api.post("subscriptions/", **whole), status) == [named]
    assert not Subscription.objects.exists()


def test_who_must_not_be_written_to_is_not_added(api: Api) -> None:
    core = SuppressionFactory().core
    answer = api.post("subscriptions/", subscribable=SubscribableFactory().name, to={"email": core})
    assert fields(answer, 422) == ["to.email"]


def test_a_channels_own_field_is_named(api: Api) -> None:
    to = {"account": "bot", "instance_url": "https://mastodon.example", "access_token": "a b"}
    answer = api.post("subscriptions/", subscribable=BridgeFactory().name, to=to)
    assert fields(answer, 422) == ["to.access_token"]
    assert "a b" not in answer.content.decode()


def test_a_subscriber_is_changed_confirmed_paused_and_ended(api: Api) -> None:
    one = UnconfirmedFactory()
    path = f"subscriptions/{one.pk}/"
    row = api.patch(path, name=" Ada  L. ", language="pt-BR").json()
    assert (row["name"], row["language"]) == ("Ada L.", "pt-BR")
    assert api.patch(path, language="de").json()["name"] == "Ada L."
    assert api.patch(path).status_code == 200
    assert api.post(f"{path}confirm/").json()["status"] == "confirmed"
    assert api.post(f"{path}confirm/").json()["status"] == "confirmed"
    day = (utcnow() + timedelta(days=10)).date()
    assert api.post(f"{path}pause/", until=str(day)).json()["paused_until"] == f"{day}T00:00:00Z"
    assert api.post(f"{path}resume/").json()["paused_until"] is None
    ended = api.post(f"{path}unsubscribe/").json()
    assert (ended["status"], ended["confirmed"]) == ("unsubscribed", False)
    assert api.post(f"{path}unsubscribe/").json() == ended
    assert "unsubscribed" in problem(api.post(f"{path}confirm/"), 409)["detail"]


@pytest.mark.parametrize(
    ("until", "status"), [("2020-01-01", 422), ("2999-01-01", 422), ("soon", 400), (1, 400)]
)
def test_a_pause_ends_on_a_day_to_come(api: Api, until: Any, status: int) -> None:
    answer = api.post(f"subscriptions/{SubscriptionFactory().pk}/pause/", until=until)
    assert fields(answer, status) == ["until"]


def test_destinations_keep_their_secrets(api: Api) -> None:
    made = DestinationFactory(
        kind="mastodon", secrets={"access_token": "hush"}, config={"url": "https://x.test"}
    )
    row = api.get(f"destinations/{made.pk}/").json()
    assert set(row) == {"id", "kind", "label", "added_at", "disabled_at", "disabled_reason"}


def test_an_address_is_disabled_and_enabled(api: Api) -> None:
    one, other = DestinationFactory(), DestinationFactory()
    path = f"destinations/{one.pk}/"
    row = api.post(f"{path}disable/", reason="She asked by phone.").json()
    assert (row["disabled_reason"], row["disabled_at"] is not None) == ("She asked by phone.", True)
    assert api.post(f"{path}disable/", reason="Again.").json() == row
    assert api.ids("destinations/", disabled="true") == [one.pk]
    assert api.ids("destinations/", disabled="false") == [other.pk]
    assert api.post(f"{path}enable/").json()["disabled_at"] is None


def test_a_person_is_erased_and_no_longer_there(api: Api) -> None:
    one = SubscriptionFactory()
    path = f"destinations/{one.destination.pk}/"
    assert api.delete(path).status_code == 204
    problem(api.get(path), 404)
    problem(api.post(f"{path}enable/"), 404)
    assert api.ids("destinations/") == []
    assert not Subscription.objects.exists()
    assert not Destination.objects.filter(core=one.destination.core).exists()


def test_the_sites_settings_are_read_and_changed() -> None:
    api = Api("site:write")
    assert api.get("site/").json() == {
        "name": "", "about": "", "logo": "", "logo_says_name": False, "accent": "", "imprint_url": "",
        "privacy_url": "", "time_zone": "",
    }  # fmt: skip
    row = api.patch("site/", name="Harbour News", accent="#1a5fb4").json()
    assert (row["name"], row["accent"], row["about"]) == ("Harbour News", "#1a5fb4", "")
    assert site_settings().name == "Harbour News"
    assert problem(api.patch("site/", accent="blue"), 422)["errors"][0]["field"] == "accent"
    assert problem(api.patch("site/", logo="x"), 400)["errors"][0]["field"] == "logo"
    assert problem(api.post("site/", name="x"), 405)["status"] == 405
    assert api.get("site/").json() == row
