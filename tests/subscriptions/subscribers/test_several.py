"""Several newsletters in one sign-up: one mail, one link."""

from datetime import timedelta
from typing import Any

import pytest

from common.signing import TokenError
from delivery.letters.build import mail_letter
from delivery.letters.notices import take_notices
from delivery.models import Delivery
from subscriptions import links
from subscriptions.models import Notice, Subscription
from subscriptions.rules.origin import Origin
from subscriptions.rules.sign_up import MOST_CHOSEN_AT_ONCE
from subscriptions.subscribers.leave import leave
from subscriptions.subscribers.sign_up import SignUpClosed, confirm_subscriptions, sign_up
from tests.factories import NOW, SubscribableFactory, SubscriptionFactory

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(minutes=5)
CORE = "ada@example.org"


def ask(*subscribables: Any, email: str = CORE, **facts: Any) -> None:
    usual = {"name": "Ada", "origin": Origin(), "now": NOW}
    sign_up(**{"subscribables": subscribables, "email": email, **usual, **facts})


def letters(*titles: str) -> list[Any]:
    return [SubscribableFactory(title=title) for title in titles]


def token() -> str:
    return str(Notice.objects.latest("pk").context["confirm_url"]).rstrip("/").rpartition("/")[2]


def subscribed(letter: Any, **facts: Any) -> Subscription:
    made: Subscription = SubscriptionFactory(
        subscribable=letter, destination__core=CORE, destination__label=CORE, **facts
    )
    return made


def mailed() -> Any:
    take_notices(now=NOW)
    return mail_letter(Delivery.objects.get(), now=NOW)


def test_one_mail_lists_them_and_one_link_confirms_all() -> None:
    ask(*letters("Bees", "Ants", "Wasps"))
    assert Notice.objects.get().template == "confirm_several"
    assert Subscription.objects.values_list("status", flat=True).distinct().get() == "unconfirmed"
    done = confirm_subscriptions(token=token(), now=LATER)
    assert [str(each.subscribable) for each in done] == ["Bees", "Ants", "Wasps"]
    assert set(Subscription.objects.values_list("status", "display_name")) == {("confirmed", "Ada")}


def test_the_mail_names_each_and_has_the_link() -> None:
    ask(*letters("Bees & Co", "Ants"))
    url = Notice.objects.get().context["confirm_url"]
    letter = mailed()
    assert letter.subject == "Confirm your subscriptions"
    assert "<li" in letter.html
    assert "Bees &amp; Co" in letter.html
    assert "* Bees & Co\n* Ants\n" in letter.text
    assert url in letter.text.splitlines()


def test_what_is_received_already_is_said_in_the_same_mail() -> None:
    bees, ants = letters("Bees", "Ants")
    subscribed(bees)
    ask(bees, ants)
    letter = mailed()
    assert letter.text.index("Ants") < letter.text.index("You already receive")
    assert letter.text.index("You already receive") < letter.text.index("* Bees")
    assert "/manage/" not in letter.text


def test_all_received_already_is_one_mail_with_each_ones_own_link() -> None:
    bees, ants = letters("Bees", "Ants")
    rows = [subscribed(bees)]
    rows.append(SubscriptionFactory(subscribable=ants, destination=rows[0].destination))
    ask(ants, bees)
    assert Notice.objects.get().template == "already_several"
    letter = mailed()
    for row in rows:
        assert links.manage_url(row) in letter.text
        assert f'href="{links.manage_url(row)}"' in letter.html


def test_one_of_several_is_confirmed_although_another_was_left_since() -> None:
    ask(*letters("Bees", "Ants"))
    link = token()
    leave(subscription=Subscription.objects.get(subscribable__title="Bees"), now=NOW)
    assert [str(each.subscribable) for each in confirm_subscriptions(token=link, now=LATER)] == ["Ants"]
    assert Subscription.objects.get(subscribable__title="Bees").status == "unsubscribed"


def test_a_link_of_which_everything_was_left_is_spent() -> None:
    ask(*letters("Bees", "Ants"))
    link = token()
    for each in Subscription.objects.all():
        leave(subscription=each, now=NOW)
    with pytest.raises(TokenError, match="left"):
        confirm_subscriptions(token=link, now=LATER)


def test_what_was_asked_for_a_minute_ago_is_not_mailed_again() -> None:
    bees, ants = letters("Bees", "Ants")
    ask(bees)
    ask(bees, ants, now=NOW + timedelta(minutes=1))
    assert Notice.objects.count() == 2
    assert [str(each.subscribable) for each in confirm_subscriptions(token=token(), now=LATER)] == ["Ants"]


def test_one_that_is_closed_refuses_all() -> None:
    with pytest.raises(SignUpClosed, match="Ants"):
        ask(SubscribableFactory(), SubscribableFactory(title="Ants", sign_up="closed"))
    assert not Subscription.objects.exists()


def test_nothing_and_too_much_are_refused_with_a_sentence() -> None:
    with pytest.raises(SignUpClosed, match="Choose a newsletter"):
        ask()
    with pytest.raises(SignUpClosed, match="at most 20"):
        ask(*SubscribableFactory.create_batch(MOST_CHOSEN_AT_ONCE + 1, feeds=0))


def test_the_link_of_as_many_as_there_may_be_is_read() -> None:
    many = SubscribableFactory.create_batch(MOST_CHOSEN_AT_ONCE, feeds=0)
    for number, each in enumerate(many):
        type(each).objects.filter(pk=each.pk).update(title=f"Letter {number}")
    ask(*many)
    # As in a database that has been in use for long.
    rows = list(Subscription.objects.all())
    for row in rows:
        row.pk += 1_000_000_000
    url = links.confirm_url(*rows, now=NOW)
    with pytest.raises(TokenError, match="no longer exists"):
        confirm_subscriptions(token=url.rstrip("/").rpartition("/")[2], now=LATER)
    assert len(confirm_subscriptions(token=token(), now=LATER)) == MOST_CHOSEN_AT_ONCE
