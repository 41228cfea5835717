"""Signing up for a newsletter, and confirming it.

Mail after a confirmation: none, unless the admin chooses it.
Several newsletters in one sign-up: one mail, one link.
"""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from common.ports.channels import InvalidDestination
from common.signing import TokenError
from delivery.letters.build import mail_letter
from delivery.letters.notices import take_notices
from delivery.models import Delivery
from subscriptions import links
from subscriptions.models import Destination, Notice, Subscription
from subscriptions.rules.origin import How, Origin
from subscriptions.rules.sign_up import MOST_CHOSEN_AT_ONCE
from subscriptions.subscribers.admin_changes import subscribe
from subscriptions.subscribers.leave import leave
from subscriptions.subscribers.sign_up import SignUpClosed, confirm_subscriptions, is_open, sign_up
from tests.factories import (
    NOW,
    BridgeFactory,
    DestinationFactory,
    LeftFactory,
    SubscribableFactory,
    SubscriptionFactory,
    SuppressionFactory,
    UnconfirmedFactory,
)

CORE = "ada@example.org"
pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(minutes=5)
READER = Origin(How.PAGE, ip="203.0.113.7", words="Subscribe to Example Weekly.")


def ask(subscribable: Any, email: str = "ada@example.org", **facts: Any) -> None:
    usual = {"email": email, "name": "Ada", "origin": READER, "now": NOW}
    sign_up(**{"subscribables": [subscribable], **usual, **facts})


def statuses(token: str, now: datetime) -> list[str]:
    return [each.status for each in confirm_subscriptions(token=token, now=now)]


def token_of(notice: Notice) -> str:
    return str(notice.context["confirm_url"]).rstrip("/").rpartition("/")[2]


def test_a_new_address_gets_the_confirmation() -> None:
    letter = SubscribableFactory(title="Example Weekly", name="weekly")
    ask(letter, language="de")
    subscription = Subscription.objects.get()
    assert subscription.status == "unconfirmed"
    assert (subscription.asked_name, subscription.display_name) == ("Ada", "")
    notice = Notice.objects.get()
    assert (notice.kind, notice.template, notice.language) == ("confirmation", "confirmation", "de")
    assert (notice.subscription, notice.destination) == (subscription, subscription.destination)
    assert notice.context.keys() == {"newsletter", "confirm_url", "hours", "page_url"}
    assert notice.context["newsletter"] == "Example Weekly"
    assert notice.context["hours"] == "48"
    assert notice.context["page_url"].endswith("/s/weekly/")


def test_no_stranger_chosen_text_goes_into_the_mail() -> None:
    ask(SubscribableFactory(), name="Buy at http://spam.example")
    assert "spam" not in str(Notice.objects.get().context)


def test_confirming_makes_the_asked_name_the_name() -> None:
    ask(SubscribableFactory())
    (subscription,) = confirm_subscriptions(token=token_of(Notice.objects.get()), now=LATER)
    subscription.refresh_from_db()
    assert subscription.status == "confirmed"
    assert subscription.confirmed_at == LATER
    assert (subscription.display_name, subscription.asked_name) == ("Ada", "")
    assert subscription.confirm_nonce == ""


def test_confirming_twice_changes_nothing() -> None:
    ask(SubscribableFactory())
    token = token_of(Notice.objects.get())
    confirm_subscriptions(token=token, now=LATER)
    Subscription.objects.update(display_name="Changed since")
    (again,) = confirm_subscriptions(token=token, now=LATER + timedelta(hours=1))
    assert again.confirmed_at == LATER
    assert Subscription.objects.get().display_name == "Changed since"


def test_confirming_without_a_name_keeps_the_one_there_was() -> None:
    left = LeftFactory(display_name="Ada")
    ask(left.subscribable, left.destination.core, name="")
    confirm_subscriptions(token=token_of(Notice.objects.get()), now=LATER)
    assert Subscription.objects.get().display_name == "Ada"


def test_a_confirmation_is_good_for_48_hours_to_the_second() -> None:
    ask(SubscribableFactory(name="weekly"))
    token = token_of(Notice.objects.get())
    with pytest.raises(TokenError, match="48 hours") as caught:
        confirm_subscriptions(token=token, now=NOW + timedelta(hours=48))
    assert str(vars(caught.value)["page_url"]).endswith("/s/weekly/")
    assert statuses(token, NOW + timedelta(hours=48, seconds=-1)) == ["confirmed"]


def test_a_confirmation_dies_with_leaving() -> None:
    ask(SubscribableFactory())
    token = token_of(Notice.objects.get())
    leave(subscription=Subscription.objects.get(), now=NOW)
    with pytest.raises(TokenError, match="left"):
        confirm_subscriptions(token=token, now=LATER)
    assert Subscription.objects.get().status == "unsubscribed"


def test_a_used_confirmation_does_not_bring_back_who_left_and_signed_up_anew() -> None:
    letter = SubscribableFactory()
    ask(letter)
    old = token_of(Notice.objects.get())
    confirm_subscriptions(token=old, now=NOW)
    leave(subscription=Subscription.objects.get(), now=NOW)
    ask(letter, now=LATER)
    with pytest.raises(TokenError):
        confirm_subscriptions(token=old, now=LATER)
    assert statuses(token_of(Notice.objects.get()), LATER) == ["confirmed"]


def test_a_confirmation_of_a_subscription_that_is_gone_says_so() -> None:
    ask(SubscribableFactory())
    token = token_of(Notice.objects.get())
    Subscription.objects.all().delete()
    with pytest.raises(TokenError, match="no longer exists"):
        confirm_subscriptions(token=token, now=LATER)


def test_an_unsubscribe_link_does_not_confirm() -> None:
    subscription = UnconfirmedFactory()
    token = links.unsubscribe_url(subscription).rstrip("/").rpartition("/")[2]
    with pytest.raises(TokenError):
        confirm_subscriptions(token=token, now=NOW)


def test_who_is_not_confirmed_gets_it_again_and_both_mails_work() -> None:
    letter = SubscribableFactory()
    ask(letter)
    ask(letter, now=LATER)
    first, second = (token_of(notice) for notice in Notice.objects.order_by("pk"))
    assert statuses(first, LATER) == ["confirmed"]
    assert statuses(second, LATER) == ["confirmed"]


def test_who_is_confirmed_is_told_and_nothing_else_changes() -> None:
    subscription = SubscriptionFactory(display_name="Ada")
    ask(subscription.subscribable, subscription.destination.core, name="Mallory")
    notice = Notice.objects.get()
    assert (notice.kind, notice.template) == ("confirmation", "already")
    assert notice.context["manage_url"] == links.manage_url(subscription)
    assert "confirm_url" not in notice.context
    subscription.refresh_from_db()
    assert (subscription.status, subscription.display_name) == ("confirmed", "Ada")
    assert subscription.asked_name == ""


def test_who_left_is_asked_to_confirm_again() -> None:
    left = LeftFactory()
    ask(left.subscribable, left.destination.core)
    left.refresh_from_db()
    assert left.status == "unconfirmed"
    assert Notice.objects.get().template == "confirmation"
    confirm_subscriptions(token=token_of(Notice.objects.get()), now=LATER)
    left.refresh_from_db()
    assert left.status == "confirmed"
    assert left.left_at is None


def test_a_suppressed_address_gets_nothing_and_no_row() -> None:
    SuppressionFactory(core="ada@example.org")
    ask(SubscribableFactory(), "ADA@Example.org")
    assert not Notice.objects.exists()
    assert not Destination.objects.exists()


def test_a_disabled_address_gets_nothing() -> None:
    subscription = UnconfirmedFactory(destination=DestinationFactory(disabled_at=NOW))
    ask(subscription.subscribable, subscription.destination.core)
    assert not Notice.objects.exists()


def test_a_sign_up_never_changes_a_destination() -> None:
    known = DestinationFactory(
        core="ada@example.org", label="Ada@example.org", config={"address": "Ada@example.org"}
    )
    ask(SubscribableFactory(), "ADA@EXAMPLE.ORG")
    known.refresh_from_db()
    assert (known.label, known.config) == ("Ada@example.org", {"address": "Ada@example.org"})
    assert Destination.objects.count() == 1


def test_the_same_address_in_another_case_is_the_same_subscription() -> None:
    letter = SubscribableFactory()
    ask(letter, "Ada@Example.org")
    ask(letter, "ada@example.ORG", now=LATER)
    assert Subscription.objects.count() == 1


@pytest.mark.parametrize("factory", [SubscriptionFactory, UnconfirmedFactory, LeftFactory])
def test_one_mail_in_five_minutes_whatever_the_standing(factory: Any) -> None:
    subscription = factory()
    for seconds in range(0, 300, 60):
        ask(subscription.subscribable, subscription.destination.core, now=NOW + timedelta(seconds=seconds))
    assert Notice.objects.count() == 1
    ask(subscription.subscribable, subscription.destination.core, now=LATER)
    assert Notice.objects.count() == 2


def test_five_mails_in_a_day() -> None:
    letter = SubscribableFactory()
    for minutes in range(0, 24 * 60, 10):
        ask(letter, now=NOW + timedelta(minutes=minutes))
    assert Notice.objects.count() == 5
    ask(letter, now=NOW + timedelta(days=1))
    assert Notice.objects.count() == 6


def test_over_the_limit_nothing_about_the_sign_up_is_kept() -> None:
    letter = SubscribableFactory()
    ask(letter, name="Ada")
    ask(letter, name="Mallory", now=NOW + timedelta(minutes=1))
    assert Subscription.objects.get().asked_name == "Ada"


def test_other_newsletters_have_limits_of_their_own() -> None:
    ask(SubscribableFactory())
    ask(SubscribableFactory())
    assert Notice.objects.count() == 2


@pytest.mark.parametrize("facts", [{"sign_up": "closed"}, {"stopped": True}])
def test_closed_sign_up_is_refused(facts: dict[str, Any]) -> None:
    letter = SubscribableFactory(**facts)
    with pytest.raises(SignUpClosed):
        ask(letter)
    assert not Subscription.objects.exists()


def test_a_bridge_is_closed_whatever_it_says() -> None:
    assert not is_open(BridgeFactory(sign_up="open"))


@pytest.mark.parametrize("email", ["", "ada", "ada@", "a@b@c.example", "ada@example.org\nBcc: x@y.example"])
def test_what_is_no_address_is_refused(email: str) -> None:
    with pytest.raises(InvalidDestination):
        ask(SubscribableFactory(), email)
    assert not Destination.objects.exists()


def test_a_private_newsletter_has_no_page_to_name() -> None:
    ask(SubscribableFactory(visibility="private"))
    assert Notice.objects.get().context["page_url"] == ""


def confirmed(**facts: Any) -> Any:
    waiting = UnconfirmedFactory(**facts)
    now = timezone.now()
    token = links.confirm_url(waiting, now=now).split("/")[-2]
    confirm_subscriptions(token=token, now=now)
    confirm_subscriptions(token=token, now=now)
    return waiting


def test_nobody_is_welcomed_by_mail_unless_the_admin_wishes_so() -> None:
    confirmed()
    assert not Notice.objects.exists()


@pytest.mark.parametrize(("wish", "template"), [("words", "welcome"), ("latest", "latest")])
def test_who_confirms_is_welcomed_once(wish: str, template: str) -> None:
    reader = confirmed(subscribable__welcome=wish, subscribable__title="Engines", language="de")
    notice = Notice.objects.get()
    assert (notice.kind, notice.template, notice.language) == ("welcome", template, "de")
    assert (notice.destination, notice.subscription) == (reader.destination, reader)
    assert notice.context["newsletter"] == "Engines"


def test_who_an_admin_adds_is_not_welcomed() -> None:
    letter = SubscribableFactory(welcome="words")
    subscribe(subscribable=letter, data={"email": "ada@example.org"}, confirmed=True, now=NOW)
    assert not Notice.objects.exists()


def ask_for_several(*subscribables: Any, email: str = CORE, **facts: Any) -> None:
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
    ask_for_several(*letters("Bees", "Ants", "Wasps"))
    assert Notice.objects.get().template == "confirm_several"
    assert Subscription.objects.values_list("status", flat=True).distinct().get() == "unconfirmed"
    done = confirm_subscriptions(token=token(), now=LATER)
    assert [str(each.subscribable) for each in done] == ["Bees", "Ants", "Wasps"]
    assert set(Subscription.objects.values_list("status", "display_name")) == {("confirmed", "Ada")}


def test_the_mail_names_each_and_has_the_link() -> None:
    ask_for_several(*letters("Bees & Co", "Ants"))
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
    ask_for_several(bees, ants)
    letter = mailed()
    assert letter.text.index("Ants") < letter.text.index("You already receive")
    assert letter.text.index("You already receive") < letter.text.index("* Bees")
    assert "/manage/" not in letter.text


def test_all_received_already_is_one_mail_with_each_ones_own_link() -> None:
    bees, ants = letters("Bees", "Ants")
    rows = [subscribed(bees)]
    rows.append(SubscriptionFactory(subscribable=ants, destination=rows[0].destination))
    ask_for_several(ants, bees)
    assert Notice.objects.get().template == "already_several"
    letter = mailed()
    for row in rows:
        assert links.manage_url(row) in letter.text
        assert f'href="{links.manage_url(row)}"' in letter.html


def test_one_of_several_is_confirmed_although_another_was_left_since() -> None:
    ask_for_several(*letters("Bees", "Ants"))
    link = token()
    leave(subscription=Subscription.objects.get(subscribable__title="Bees"), now=NOW)
    assert [str(each.subscribable) for each in confirm_subscriptions(token=link, now=LATER)] == ["Ants"]
    assert Subscription.objects.get(subscribable__title="Bees").status == "unsubscribed"


def test_a_link_of_which_everything_was_left_is_spent() -> None:
    ask_for_several(*letters("Bees", "Ants"))
    link = token()
    for each in Subscription.objects.all():
        leave(subscription=each, now=NOW)
    with pytest.raises(TokenError, match="left"):
        confirm_subscriptions(token=link, now=LATER)


def test_what_was_asked_for_a_minute_ago_is_not_mailed_again() -> None:
    bees, ants = letters("Bees", "Ants")
    ask_for_several(bees)
    ask_for_several(bees, ants, now=NOW + timedelta(minutes=1))
    assert Notice.objects.count() == 2
    assert [str(each.subscribable) for each in confirm_subscriptions(token=token(), now=LATER)] == ["Ants"]


def test_one_that_is_closed_refuses_all() -> None:
    with pytest.raises(SignUpClosed, match="Ants"):
        ask_for_several(SubscribableFactory(), SubscribableFactory(title="Ants", sign_up="closed"))
    assert not Subscription.objects.exists()


def test_nothing_and_too_much_are_refused_with_a_sentence() -> None:
    with pytest.raises(SignUpClosed, match="Choose a newsletter"):
        ask_for_several()
    with pytest.raises(SignUpClosed, match="at most 20"):
        ask_for_several(*SubscribableFactory.create_batch(MOST_CHOSEN_AT_ONCE + 1, feeds=0))


def test_the_link_of_as_many_as_there_may_be_is_read() -> None:
    many = SubscribableFactory.create_batch(MOST_CHOSEN_AT_ONCE, feeds=0)
    for number, each in enumerate(many):
        type(each).objects.filter(pk=each.pk).update(title=f"Letter {number}")
    ask_for_several(*many)
    # As in a database that has been in use for long.
    rows = list(Subscription.objects.all())
    for row in rows:
        row.pk += 1_000_000_000
    url = links.confirm_url(*rows, now=NOW)
    with pytest.raises(TokenError, match="no longer exists"):
        confirm_subscriptions(token=url.rstrip("/").rpartition("/")[2], now=LATER)
    assert len(confirm_subscriptions(token=token(), now=LATER)) == MOST_CHOSEN_AT_ONCE
