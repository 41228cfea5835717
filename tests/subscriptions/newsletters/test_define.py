"""A newsletter that could not work is refused, naming the field."""

from datetime import time
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import connection

from feeds.adding.add import alter_feed
from feeds.models import Feed
from subscriptions.models import Subscribable
from subscriptions.newsletters.define import alter_subscribable, define_subscribable, set_extra_params
from subscriptions.rules.schedule import Schedule
from tests.examples import some_now
from tests.factories import BridgeFactory, FeedFactory, SubscribableFactory, SubscriptionFactory
from tests.races import beside

pytestmark = pytest.mark.django_db
SECRET = {"user": "ada", "password": "geheim"}
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"name": ""}, "name"),
    ({"name": "two words"}, "name"),
    ({"name": "line\nbreak"}, "name"),
    ({"name": "x" * 65}, "name"),
    ({"name": "taken"}, "name"),
    ({"arrangement": "hourly"}, "arrangement"),
    ({"arrangement": "each", "at": time(7)}, "at"),
    ({"arrangement": "daily", "weekday": 0}, "weekday"),
    ({"arrangement": "weekly", "n": 3}, "n"),
    ({"arrangement": "weekly", "weekday": 7}, "weekday"),
    ({"arrangement": "weekly", "weekdays": []}, "weekdays"),
    ({"arrangement": "weekly", "weekdays": [0, 7]}, "weekdays"),
    ({"arrangement": "weekly", "weekdays": [0, 1], "weekday": 0}, "weekdays"),
    ({"arrangement": "weekly", "weekdays": [0, 1], "n": 3}, "n"),
    ({"arrangement": "daily", "weekdays": [0]}, "weekdays"),
    ({"arrangement": "monthly", "day_of_month": 32}, "day_of_month"),
    ({"arrangement": "every_n"}, "n"),
    ({"arrangement": "every_n", "n": 0}, "n"),
    ({"arrangement": "every_n", "n": 1001}, "n"),
    ({"arrangement": "every_n", "n": 3, "max_wait_days": 3651}, "max_wait_days"),
    ({"arrangement": "every_n", "n": 3, "max_wait_days": 0}, "max_wait_days"),
    ({"arrangement": "cron"}, "cron"),
    ({"arrangement": "cron", "cron": "0 7 * *"}, "cron"),
    ({"arrangement": "cron", "cron": "0 0 30 2 *"}, "cron"),
    ({"time_zone": "Mars/Olympus"}, "time_zone"),
    ({"grace_minutes": 10**6}, "grace_minutes"),
    ({"channel": "pigeon"}, "channel"),
    ({"options": {"colour": "red"}}, "options"),
    ({"visibility": "secret"}, "visibility"),
    ({"template": "nowhere"}, "template"),
    ({"title": "A\r\nBcc: all@example.org"}, "title"),
    ({"from_email": "A <a@b.example>\nBcc: all@example.org"}, "from_email"),
    ({"reply_to": "a@b.example\x00"}, "reply_to"),
    ({"params": {"no spaces": "x"}}, "params"),
    ({"params": {"number": 3}}, "params"),
    ({"params": {f"p{n}": "x" for n in range(51)}}, "params"),
]


def define(name: str = "weekly", **fields: Any) -> Subscribable:
    return define_subscribable(name=name, feeds=fields.pop("feeds", None) or [FeedFactory()], **fields)


def test_a_newsletter_is_each_post_by_mail_public_and_open_unless_said_otherwise() -> None:
    feeds = FeedFactory.create_batch(2)
    made = define(feeds=feeds)
    assert (made.arrangement, made.channel, made.visibility, made.sign_up) == (
        "each",
        "email",
        "public",
        "open",
    )
    assert set(made.feeds.all()) == set(feeds)


@pytest.mark.parametrize(("fields", "wrong"), some_now(WRONG))
def test_what_cannot_work_is_refused_by_its_field_and_nothing_is_saved(
    fields: dict[str, Any], wrong: str
) -> None:
    SubscribableFactory(name="taken")
    with pytest.raises(ValidationError) as refused:
        define(**fields)
    assert set(refused.value.message_dict) == {wrong}
    assert Subscribable.objects.count() == 1


@pytest.mark.parametrize(("fields", "wrong"), WRONG[5:])
def test_a_wrong_change_is_refused_and_the_newsletter_stays_as_it_was(
    fields: dict[str, Any], wrong: str
) -> None:
    letter = SubscribableFactory()
    with pytest.raises(ValidationError) as refused:
        alter_subscribable(subscribable=letter, **fields)
    assert set(refused.value.message_dict) == {wrong}
    before = Subscribable.objects.values().get()
    assert before == {field: getattr(letter, field) for field in before}


def test_a_newsletter_reads_at_least_one_feed_that_is_there() -> None:
    gone = FeedFactory(title="Gone Blog")
    Feed.objects.all().delete()
    letter = SubscribableFactory()
    for feeds, said in (([], "at least one"), ([FeedFactory(), gone], "No longer there: Gone Blog.")):
        with pytest.raises(ValidationError, match=said):
            define_subscribable(name="new", feeds=feeds)
        with pytest.raises(ValidationError, match=said):
            alter_subscribable(subscribable=letter, feeds=feeds, title="Changed")
    assert [row.title for row in Subscribable.objects.all()] == [letter.title]


def test_what_the_program_keeps_for_itself_cannot_be_set() -> None:
    for name in ("counter", "issued_through", "colour"):
        wrong: dict[str, Any] = {name: 1}
        with pytest.raises(ValidationError, match=name):
            define(**wrong)
        with pytest.raises(ValidationError, match=name):
            alter_subscribable(subscribable=SubscribableFactory(), **wrong)


def test_a_bridge_is_closed_whatever_is_asked() -> None:
    assert define(channel="mastodon", sign_up="open").sign_up == "closed"
    assert alter_subscribable(subscribable=BridgeFactory(), sign_up="open").sign_up == "closed"


def test_the_channel_stays_once_there_are_subscribers() -> None:
    letter = SubscribableFactory()
    assert alter_subscribable(subscribable=letter, channel="mastodon").channel == "mastodon"
    letter = SubscriptionFactory().subscribable
    with pytest.raises(ValidationError) as refused:
        alter_subscribable(subscribable=letter, channel="mastodon")
    assert set(refused.value.message_dict) == {"channel"}


def test_altering_changes_what_is_named_and_nothing_else() -> None:
    letter = SubscribableFactory(description="Words.", time_zone="Asia/Kolkata")
    feeds = [FeedFactory()]
    changed = alter_subscribable(subscribable=letter, title="New", feeds=feeds, stopped=True)
    assert (changed.title, changed.stopped, changed.description) == ("New", True, "Words.")
    assert (changed.time_zone, list(changed.feeds.all())) == ("Asia/Kolkata", feeds)


def test_extra_params_are_removed_first_and_then_set() -> None:
    letter = SubscribableFactory(params={"a": "1", "b": "2"})
    changed = set_extra_params(subscribable=letter, add={"a": "3", "c": ""}, remove=["a", "b", "x"])
    assert changed.params == {"a": "3", "c": ""}
    with pytest.raises(ValidationError):
        set_extra_params(subscribable=letter, add={"two words": "x"})
    assert Subscribable.objects.get(pk=letter.pk).params == {"a": "3", "c": ""}


@pytest.mark.django_db
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
def test_of_two_admins_who_choose_one_name_the_second_is_told() -> None:
    feed = FeedFactory()

    def second() -> list[str]:
        with pytest.raises(ValidationError) as refused:
            define(feeds=[feed])
        return list(refused.value.message_dict)

    assert beside(lambda: define(feeds=[feed]), second)[1] == ["name"]


def test_parameters_that_a_later_app_refuses_are_not_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(subscribable: Subscribable) -> None:
        if "greeting" not in subscribable.params:
            raise ValidationError({"template": "Its template asks for %greeting%."})

    letter = SubscribableFactory(params={"greeting": "Hello"})
    monkeypatch.setattr("subscriptions.newsletters.define.newsletter_checks", [refuse])
    with pytest.raises(ValidationError, match="asks for"):
        set_extra_params(subscribable=letter, add={}, remove=["greeting"])
    letter.refresh_from_db()
    assert letter.params == {"greeting": "Hello"}


def test_over_a_feed_that_needs_credentials_it_is_private_and_closed() -> None:
    made = define(feeds=[FeedFactory(), FeedFactory(credentials=SECRET)])
    assert (made.visibility, made.sign_up) == ("private", "closed")


def test_unless_the_admin_says_otherwise() -> None:
    feeds = [FeedFactory(credentials=SECRET)]
    made = define("open", feeds=feeds, visibility="public", sign_up="open")
    assert (made.visibility, made.sign_up) == ("public", "open")
    made = define("unlisted", feeds=feeds, visibility="unlisted")
    assert (made.visibility, made.sign_up) == ("unlisted", "closed")


def test_credentials_that_come_later_change_no_newsletter() -> None:
    feed = FeedFactory()
    made = define(feeds=[feed])
    alter_feed(feed=feed, credentials=SECRET)
    assert alter_subscribable(subscribable=made, title="New").visibility == "public"


def test_several_weekdays_are_kept_as_a_cron_line_that_every_release_knows() -> None:
    made = define(arrangement="weekly", weekdays=[3, 0, 3], at=time(18))
    assert (made.arrangement, made.cron, made.at, made.weekday) == ("cron", "0 18 * * 1,4", time(0), 0)
    assert define("one", arrangement="weekly", weekdays=[4]).weekday == 4
    assert define("all", arrangement="weekly", weekdays=range(7), at=time(6)).schedule == Schedule(
        "daily", time(6)
    )


def test_the_days_or_the_hour_of_several_weekdays_change_alone() -> None:
    letter = define(arrangement="weekly", weekdays=[0, 3], at=time(18))

    def changed(**fields: Any) -> Schedule:
        nonlocal letter
        letter = alter_subscribable(subscribable=letter, **fields)
        return letter.schedule

    assert changed(at=time(7)).cron == "0 7 * * 1,4"
    assert changed(weekdays=[4, 5]).cron == "0 7 * * 5,6"
    assert changed(title="Another").cron == "0 7 * * 5,6"
    assert changed(arrangement="weekly").cron == "0 7 * * 5,6"
    assert changed(weekday=2) == Schedule("weekly", time(7), 2)
    assert changed(weekdays=[2, 6]).cron == "0 7 * * 0,3"
    assert changed(cron="0 9 1 * *").cron == "0 9 1 * *"
