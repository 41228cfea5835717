"""Unsubscribing, and changing one's name.

Unconfirmed sign-ups expire.
"""

from datetime import timedelta
from typing import Any

import pytest

from delivery.letters.notices import take_notices
from delivery.models import Delivery
from subscriptions.models import Consent, Destination, FrequencyChange, Notice, Subscription
from subscriptions.rules.origin import Origin
from subscriptions.subscribers.admin_changes import revoke_links, save_details
from subscriptions.subscribers.leave import (
    EXPIRED_AT_ONCE,
    UNDO_FOR,
    can_return,
    expire_sign_ups,
    leave,
    undo_leaving,
)
from subscriptions.subscribers.sign_up import confirm_subscriptions, mark_confirmed, sign_up
from tests.factories import (
    NOW,
    BounceFactory,
    DeliveryFactory,
    DestinationFactory,
    LeftFactory,
    NoticeFactory,
    SubscribableFactory,
    SubscriptionFactory,
    SuppressionFactory,
    UnconfirmedFactory,
)

OVER = NOW + timedelta(hours=48, days=7, seconds=1)
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


def ask(letter: Any, email: str = "ada@example.org", **facts: Any) -> None:
    usual = {"subscribables": [letter], "email": email, "name": "", "origin": Origin(), "now": NOW}
    sign_up(**{**usual, **facts})


def test_it_goes_a_week_after_its_link_has_expired_with_all_that_is_known_of_it() -> None:
    ask(SubscribableFactory())
    take_notices(now=NOW)
    Delivery.objects.update(state="sent", sent_at=NOW)
    assert expire_sign_ups(now=OVER - timedelta(seconds=2)) == 0
    assert expire_sign_ups(now=OVER) == 1
    for model in (Subscription, Destination, Consent, Delivery):
        assert not model.objects.exists()


def test_who_asked_again_has_as_long_again() -> None:
    letter = SubscribableFactory()
    ask(letter)
    ask(letter, now=NOW + timedelta(days=5))
    assert expire_sign_ups(now=OVER) == 0
    assert expire_sign_ups(now=OVER + timedelta(days=5)) == 1


def test_who_confirmed_stays() -> None:
    ask(SubscribableFactory())
    token = str(Notice.objects.get().context["confirm_url"]).rstrip("/").rpartition("/")[2]
    confirm_subscriptions(token=token, now=NOW)
    assert expire_sign_ups(now=OVER) == 0


def test_who_left_before_is_remembered_as_such() -> None:
    left = LeftFactory()
    ask(left.subscribable, left.destination.core)
    assert expire_sign_ups(now=OVER) == 1
    left.refresh_from_db()
    assert (left.status, left.confirm_nonce, left.asked_name) == ("unsubscribed", "", "")
    assert left.left_at is not None
    assert expire_sign_ups(now=OVER) == 0


def test_what_a_list_brought_was_never_asked_and_stays() -> None:
    UnconfirmedFactory(confirm_nonce="", added_at=NOW - timedelta(days=365))
    assert expire_sign_ups(now=OVER) == 0


def test_an_address_that_is_needed_otherwise_stays() -> None:
    letter = SubscribableFactory()
    other = SubscriptionFactory()
    disabled = DestinationFactory()
    wrote, bounced = DestinationFactory(), DestinationFactory()
    for destination in (other.destination, disabled, wrote, bounced):
        ask(letter, destination.core)
    disabled.disabled_at = NOW
    disabled.save()
    DeliveryFactory(destination=wrote, subscription=None)
    BounceFactory(delivery=None, destination=bounced)
    assert expire_sign_ups(now=OVER) == 4
    assert Destination.objects.count() == 4
    assert set(Subscription.objects.all()) == {other}


def test_many_go_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("subscriptions.subscribers.leave.EXPIRED_AT_ONCE", 3)
    assert EXPIRED_AT_ONCE > 3
    UnconfirmedFactory.create_batch(10, subscribable=SubscribableFactory())
    assert expire_sign_ups(now=OVER) == 10
    assert not Destination.objects.exists()


def test_an_address_that_expires_while_it_signs_up_elsewhere_keeps_working() -> None:
    ask(SubscribableFactory())
    later = SubscribableFactory()
    ask(later, now=OVER - timedelta(days=1))
    assert expire_sign_ups(now=OVER) == 1
    assert Subscription.objects.get().subscribable == later
    assert Destination.objects.count() == 1
