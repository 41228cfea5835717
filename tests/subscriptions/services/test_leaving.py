"""Leaving, and changing one's name."""

from datetime import timedelta

import pytest

from subscriptions.models import Notice
from subscriptions.services.leaving import leave
from subscriptions.services.managing import rename
from tests.factories import NOW, NoticeFactory, SubscriptionFactory, UnconfirmedFactory

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
    rename(subscription=subscription, name="New")
    leave(subscription=stale, now=NOW)
    subscription.refresh_from_db()
    assert subscription.display_name == "New"


def test_a_name_is_tidied_and_may_be_empty() -> None:
    subscription = SubscriptionFactory()
    rename(subscription=subscription, name=" Ada\r\nLovelace ")
    subscription.refresh_from_db()
    assert subscription.display_name == "Ada Lovelace"
    rename(subscription=subscription, name="")
    subscription.refresh_from_db()
    assert subscription.display_name == ""
