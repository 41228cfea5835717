"""Mails other than issues, shortened for SMS."""

from datetime import timedelta

import pytest

from channels.http.links import sms_parts
from common.clock import utcnow
from delivery.models import Delivery
from subscriptions.models import Subscribable
from subscriptions.newsletters.define import alter_subscribable
from subscriptions.subscribers.admin_changes import subscribe
from subscriptions.subscribers.leave import leave
from subscriptions.subscribers.sign_up import confirm_subscriptions
from tests.delivery.sms.texting import NUMBER, SITE, bodies, go_out
from tests.servers.services.twilio import Twilio

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_admin_has_somebody_confirm_by_a_link_and_they_are_welcomed_and_let_go(
    newsletter: Subscribable, twilio: Twilio
) -> None:
    letter = alter_subscribable(subscribable=newsletter, welcome="words", farewell_mail=True, title="Bees")
    now = utcnow()
    reader = subscribe(subscribable=letter, data={"phone": NUMBER}, now=now, confirmed=False, language="de")
    go_out()
    [asked] = bodies(twilio)
    assert asked.startswith(f"Um Bees per SMS zu erhalten, öffnen Sie {SITE}/confirm/")
    assert sms_parts(asked) <= 3
    confirm_subscriptions(token=asked.rstrip("/").rpartition("/")[2], now=now)
    go_out()
    welcome = bodies(twilio)[1]
    assert "STOP" in welcome
    assert f"{SITE}/manage/" in welcome
    reader.refresh_from_db()
    leave(subscription=reader, now=now + timedelta(minutes=1), by_reader=True)
    go_out()
    assert bodies(twilio)[2] == "Sie erhalten Bees nicht mehr unter dieser Nummer."
    assert set(Delivery.objects.values_list("state", flat=True)) == {"sent"}


@pytest.mark.parametrize(
    "title", ["Пчёлы и шмели", "Пчёлы и шмели летом и зимой в нашем саду " * 4, "B" * 200]
)
def test_a_title_of_any_letters_and_length_is_named(
    newsletter: Subscribable, twilio: Twilio, title: str
) -> None:
    letter = alter_subscribable(subscribable=newsletter, title=title[:200].strip())
    subscribe(subscribable=letter, data={"phone": NUMBER}, now=utcnow(), confirmed=False)
    go_out()
    [asked] = bodies(twilio)
    assert title[:5] in asked
    assert asked.endswith("/")
    assert sms_parts(asked) <= 4
