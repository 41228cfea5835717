"""Unsubscribing, and changing one's name."""

from datetime import timedelta

import pytest

from subscriptions.models import FrequencyChange, Notice, Subscription
from subscriptions.subscribers.admin_changes import revoke_links, save_details
from subscriptions.subscribers.leave import UNDO_FOR, can_return, leave, undo_leaving
from subscriptions.subscribers.sign_up import mark_confirmed
from tests.factories import (
    NOW,
    LeftFactory,
    NoticeFactory,
    SubscriptionFactory,
    SuppressionFactory,
    UnconfirmedFactory,
)

pytestmark = pytest.mark.django_db


def test_leaving_twice_keeps_the_first_time() -> None:
    subscription = SubscriptionFactory()
    leave(subscription=subscription, now=NOW)
    leave(subscription=subscription, now=NOW + timedelta(days=1))
    subscription.refresh_from_db()
    assert (subscription.status, subscription.left_at) == ("unsubscribed", NOW)


def test_leaving_takes_back_mails_that_have_not_been_taken_up() -> None:
    subscription = UnconfirmedFactory()
    NoticeFactory(subscription=subscription)
    other = NoticeFactory()
    leave(subscription=subscription, now=NOW)
    assert list(Notice.objects.all()) == [other]
    assert subscription.confirm_nonce == ""


def test_leaving_by_a_stale_row_does_not_bring_old_values_back() -> None:
    subscription = SubscriptionFactory(display_name="Old")
    stale = type(subscription).objects.get()
    save_details(subscription=subscription, name="New")
    leave(subscription=stale, now=NOW)
    subscription.refresh_from_db()
    assert subscription.display_name == "New"


def test_a_name_is_tidied_and_may_be_empty() -> None:
    subscription = SubscriptionFactory()
    save_details(subscription=subscription, name=" Ada\r\nLovelace ")
    subscription.refresh_from_db()
    assert subscription.display_name == "Ada Lovelace"
    save_details(subscription=subscription, name="")
    subscription.refresh_from_db()
    assert subscription.display_name == ""


def test_details_go_to_both_sides_of_a_switch() -> None:
    old = SubscriptionFactory()
    new = SubscriptionFactory(destination=old.destination)
    FrequencyChange.objects.create(old=old, new=new, rarer=new.subscribable, at=NOW)
    save_details(subscription=old, name=" Ada ", language="de")
    assert set(Subscription.objects.values_list("display_name", "language")) == {("Ada", "de")}
    save_details(subscription=new, name="Grace")
    assert set(Subscription.objects.values_list("display_name", "language")) == {("Grace", "de")}


def test_a_reader_may_take_leaving_back_for_a_day_and_all_is_as_it_was() -> None:
    subscription = SubscriptionFactory(paused_until=NOW + timedelta(days=9))
    before = Subscription.objects.values().get()
    leave(subscription=subscription, now=NOW, by_reader=True)
    assert can_return(subscription=subscription, now=NOW + UNDO_FOR - timedelta(seconds=1))
    assert undo_leaving(subscription=subscription, now=NOW + UNDO_FOR - timedelta(seconds=1))
    assert Subscription.objects.values().get() == before
    assert not undo_leaving(subscription=subscription, now=NOW)


def test_after_a_day_it_is_too_late() -> None:
    subscription = SubscriptionFactory()
    leave(subscription=subscription, now=NOW, by_reader=True)
    assert not undo_leaving(subscription=subscription, now=NOW + UNDO_FOR)
    assert subscription.status == "unsubscribed"


def test_a_second_leaving_gives_no_further_day() -> None:
    subscription = SubscriptionFactory()
    leave(subscription=subscription, now=NOW, by_reader=True)
    leave(subscription=subscription, now=NOW + UNDO_FOR, by_reader=True)
    assert not can_return(subscription=subscription, now=NOW + UNDO_FOR)


def test_only_who_left_by_themselves_may_take_it_back() -> None:
    ended = SubscriptionFactory()
    leave(subscription=ended, now=NOW)
    assert not undo_leaving(subscription=ended, now=NOW)


def test_who_never_confirmed_is_not_confirmed_by_taking_it_back() -> None:
    waiting = UnconfirmedFactory()
    leave(subscription=waiting, now=NOW, by_reader=True)
    assert not undo_leaving(subscription=waiting, now=NOW)
    assert waiting.status == "unsubscribed"


def test_who_must_not_be_written_to_cannot_take_it_back() -> None:
    subscription = SubscriptionFactory()
    leave(subscription=subscription, now=NOW, by_reader=True)
    SuppressionFactory(core=subscription.destination.core)
    assert not undo_leaving(subscription=subscription, now=NOW)


@pytest.mark.parametrize(
    ("wanted", "by_reader", "mails"), [(True, True, 1), (True, False, 0), (False, True, 0)]
)
def test_a_farewell_is_mailed_where_the_newsletter_sends_one_and_the_reader_left(
    wanted: bool, by_reader: bool, mails: int
) -> None:
    subscription = SubscriptionFactory(subscribable__farewell_mail=wanted, subscribable__name="weekly")
    for _ in range(2):
        leave(subscription=subscription, now=NOW, by_reader=by_reader)
    notices = list(Notice.objects.filter(kind="farewell"))
    assert len(notices) == mails
    if mails:
        assert notices[0].context["page_url"].endswith("/s/weekly/")
        undo_leaving(subscription=subscription, now=NOW)
        assert not Notice.objects.exists()


def test_no_farewell_is_mailed_to_who_never_confirmed() -> None:
    leave(subscription=UnconfirmedFactory(subscribable__farewell_mail=True), now=NOW, by_reader=True)
    assert not Notice.objects.exists()


def test_revoked_links_are_those_of_all_letters_the_reader_ever_got() -> None:
    old = LeftFactory()
    new = SubscriptionFactory(destination=old.destination)
    other = SubscriptionFactory()
    FrequencyChange.objects.create(old=old, new=new, rarer=new.subscribable, at=NOW, settled_at=old.left_at)
    before = dict(Subscription.objects.values_list("pk", "token"))
    revoke_links(subscription=new)
    after = dict(Subscription.objects.values_list("pk", "token"))
    assert {pk for pk in after if after[pk] != before[pk]} == {old.pk, new.pk}
    assert after[other.pk] == before[other.pk]
    assert new.token == after[new.pk]


def test_who_paused_left_and_comes_back_gets_letters_at_once() -> None:
    subscription = SubscriptionFactory(paused_until=NOW + timedelta(days=9))
    leave(subscription=subscription, now=NOW, by_reader=True)
    mark_confirmed(subscription, now=NOW)
    subscription.refresh_from_db()
    assert (subscription.paused_until, subscription.undo_until) == (None, None)
