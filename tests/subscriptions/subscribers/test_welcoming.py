"""Mail after a confirmation: none, unless the admin chooses it."""

from typing import Any

import pytest
from django.utils import timezone

from subscriptions import links
from subscriptions.models import Notice
from subscriptions.subscribers.admin_changes import subscribe
from subscriptions.subscribers.sign_up import confirm_subscriptions
from tests.factories import NOW, SubscribableFactory, UnconfirmedFactory

pytestmark = pytest.mark.django_db


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
