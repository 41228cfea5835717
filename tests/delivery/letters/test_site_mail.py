"""The site's own mails to one person: encrypted while queued, and deleted with that person."""

import pytest

from channels.letter import LetterError
from common.ports.hooks import site_mail
from common.refused import Refused
from delivery.letters.build import mail_letter
from delivery.models import Delivery
from subscriptions.models import Destination
from tests.factories import NOW, DeliveryFactory, DestinationFactory, SubscriptionFactory

pytestmark = pytest.mark.django_db
LINK = "https://x.example/reader/invitation/SECRET/"
ADA = "ada@example.org"


def send(address: str = ADA) -> Delivery:
    context: dict[str, str | int] = {"invitation_url": LINK, "days": 7}
    site_mail().send(address=address, template="invitation", context=context, now=NOW)
    return Delivery.objects.latest("pk")


def test_a_link_is_sealed_until_the_mail_is_made(settings: object) -> None:
    mail = send()
    assert "SECRET" not in str(mail.context)
    assert LINK in mail_letter(mail, now=NOW).text
    settings.SECRET_KEY = "another" * 9  # type: ignore[attr-defined]
    with pytest.raises(LetterError, match="SECRET_KEY has changed"):
        mail_letter(mail, now=NOW)


def test_what_is_no_address_is_refused() -> None:
    with pytest.raises(Refused):
        send("nowhere")


def test_the_address_is_forgotten_with_its_mails() -> None:
    send()
    Delivery.objects.update(state="sent")
    site_mail().forget("Ada@example.org")
    assert not Destination.objects.exists()
    assert not Delivery.objects.exists()


@pytest.mark.parametrize("other", ["a subscriber", "somebody who is told of troubles", "a mail on its way"])
def test_it_stays_where_anything_else_needs_it(other: str) -> None:
    destination = DestinationFactory(core=ADA)
    send()
    if other != "a mail on its way":
        Delivery.objects.update(state="sent")
    if other == "a subscriber":
        SubscriptionFactory(destination=destination)
    elif other != "a mail on its way":
        DeliveryFactory(
            issue=None,
            subscription=None,
            destination=destination,
            kind="alert",
            key="x",
            template="alert",
            state="sent",
        )
    count = Delivery.objects.count()
    site_mail().forget(ADA)
    assert Destination.objects.get() == destination
    assert Delivery.objects.count() == count
