"""Device notifications: requested, ended, renewed."""

from typing import Any

import pytest

from common.ports.channels import InvalidDestination
from common.rates import OverLimit
from common.secrets import opened
from subscriptions.models import Consent, Destination, Notice, Subscription
from subscriptions.rules.origin import How, Origin
from subscriptions.subscribers.devices import is_told, renew_device, stop_telling, tell_device
from subscriptions.subscribers.frequency import CannotSwitch, switch
from subscriptions.subscribers.sign_up import SignUpClosed
from tests.factories import NOW, SubscribableFactory, SuppressionFactory
from tests.servers.services.push_service import Browser, text_of

pytestmark = pytest.mark.django_db
ORIGIN = Origin(How.PAGE, "203.0.113.7", "Notify me on this device")


def a_device(path: str = "1", host: str = "push.example") -> dict[str, str]:
    browser = Browser(path)
    return {
        "endpoint": f"https://{host}/{path}",
        "p256dh": text_of(browser.point),
        "auth": text_of(browser.secret),
    }


def a_newsletter(**changes: Any) -> Any:
    return SubscribableFactory(offers_devices=True, **changes)


def tell(newsletter: Any, device: dict[str, str], origin: Origin = ORIGIN) -> Subscription:
    return tell_device(newsletter=newsletter, data=device, origin=origin, now=NOW, language="de")


def test_a_device_is_told_at_once_and_its_consent_is_kept_with_the_words() -> None:
    newsletter, device = a_newsletter(welcome="words"), a_device()
    told = tell(newsletter, device)
    assert (told.status, told.confirmed_at, told.language) == ("confirmed", NOW, "de")
    assert opened(Destination.objects.get().secrets) == device
    assert list(Consent.objects.values_list("act", "words")) == [("confirmed", "Notify me on this device")]
    assert is_told(newsletter=newsletter, data=device)
    # No mail goes to a device.
    assert not Notice.objects.exists()


def test_asking_twice_changes_nothing() -> None:
    newsletter, device = a_newsletter(), a_device()
    assert tell(newsletter, device) == tell(newsletter, device)
    assert Consent.objects.count() == Subscription.objects.count() == 1


def test_one_device_may_be_told_of_several_newsletters_and_leaves_each_by_itself() -> None:
    one, other, device = a_newsletter(), a_newsletter(), a_device()
    tell(one, device)
    tell(other, device)
    assert Destination.objects.count() == 1
    stop_telling(newsletter=one, data=device, now=NOW)
    stop_telling(newsletter=one, data=device, now=NOW)
    assert not is_told(newsletter=one, data=device)
    assert is_told(newsletter=other, data=device)
    tell(one, device)
    assert is_told(newsletter=one, data=device)


def test_leaving_mails_no_goodbye() -> None:
    newsletter, device = a_newsletter(farewell_mail=True), a_device()
    tell(newsletter, device)
    stop_telling(newsletter=newsletter, data=device, now=NOW)
    assert not Notice.objects.exists()


def test_only_the_device_itself_can_ask_or_end_it() -> None:
    newsletter, device = a_newsletter(), a_device()
    tell(newsletter, device)
    guessed = {**device, "auth": text_of(b"0" * 16)}
    assert not is_told(newsletter=newsletter, data=guessed)
    stop_telling(newsletter=newsletter, data=guessed, now=NOW)
    assert not renew_device(old=guessed, data=a_device("2"), now=NOW)
    assert is_told(newsletter=newsletter, data=device)


@pytest.mark.parametrize("changes", [{"offers_devices": False}, {"stopped": True}, {"sign_up": "closed"}])
def test_a_newsletter_that_does_not_offer_it_takes_none(changes: dict[str, Any]) -> None:
    newsletter = SubscribableFactory(**{"offers_devices": True, **changes})
    with pytest.raises(SignUpClosed):
        tell(newsletter, a_device())
    assert not Destination.objects.exists()


def test_a_device_that_was_disabled_is_told_again_when_it_asks() -> None:
    newsletter, device = a_newsletter(), a_device()
    tell(newsletter, device)
    Destination.objects.update(disabled_at=NOW, disabled_reason="410")
    assert not is_told(newsletter=newsletter, data=device)
    tell(newsletter, device)
    assert is_told(newsletter=newsletter, data=device)


def test_a_device_that_must_not_be_written_to_is_refused() -> None:
    newsletter, device = a_newsletter(), a_device()
    core = tell(newsletter, device).destination.core
    SuppressionFactory(kind="webpush", core=core)
    with pytest.raises(InvalidDestination):
        tell(newsletter, device)


def test_sign_ups_of_one_connection_are_limited_and_those_of_one_push_service_are_not(settings: Any) -> None:
    settings.SIGN_UP_LIMITS = "ip=2/hour, domain=1/hour"
    newsletter = a_newsletter()
    for number in range(2):
        tell(newsletter, a_device(str(number)))
    with pytest.raises(OverLimit):
        tell(newsletter, a_device("3"))
    assert Subscription.objects.count() == 2
    tell(newsletter, a_device("4"), Origin(How.PAGE, "203.0.113.8"))
    # An existing subscription may be repeated whenever a page is opened.
    tell(newsletter, a_device("5"), Origin(How.PAGE, "203.0.113.9"))


class TestRenewing:
    def test_what_came_to_the_old_endpoint_comes_to_the_new_one(self) -> None:
        newsletter, old, new = a_newsletter(), a_device("old"), a_device("new")
        told = tell(newsletter, old)
        Destination.objects.update(disabled_at=NOW)
        assert renew_device(old=old, data=new, now=NOW)
        assert is_told(newsletter=newsletter, data=new)
        assert not is_told(newsletter=newsletter, data=old)
        assert Subscription.objects.get() == told

    def test_a_new_one_that_is_known_already_takes_over(self) -> None:
        one, other, old, new = a_newsletter(), a_newsletter(), a_device("old"), a_device("new")
        tell(one, old)
        tell(other, new)
        assert renew_device(old=old, data=new, now=NOW)
        assert is_told(newsletter=one, data=new)
        assert is_told(newsletter=other, data=new)
        assert not is_told(newsletter=one, data=old)

    def test_an_unknown_old_one_signs_nobody_up(self) -> None:
        assert not renew_device(old=a_device("old"), data=a_device("new"), now=NOW)
        assert not Destination.objects.exists()


def test_a_device_changes_no_frequency() -> None:
    daily = a_newsletter(arrangement="daily")
    weekly = SubscribableFactory(arrangement="weekly", feeds=list(daily.feeds.all()))
    told = tell(daily, a_device())
    with pytest.raises(CannotSwitch):
        switch(subscription=told, to=weekly, now=NOW)
