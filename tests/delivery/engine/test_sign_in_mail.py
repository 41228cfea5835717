"""The sign-in mail: sent through our own account, without a way to unsubscribe."""

import re

import pytest

from delivery.engine.send_pass import send_due
from delivery.models import Delivery
from subscriptions.models import Notice
from subscriptions.subscribers.sign_in import ask_for_link, mail_links
from tests.delivery.ledger import Clock
from tests.factories import NOW, SubscriptionFactory
from tests.servers.smtp_server import SmtpServer

pytestmark = pytest.mark.django_db(transaction=True)


def test_it_arrives_and_says_one_thing(smtp: SmtpServer, settings: object) -> None:
    settings.DEFAULT_FROM_EMAIL = "Site <site@sender.example>"  # type: ignore[attr-defined]
    SubscriptionFactory(destination__core="ada@example.org", status="unsubscribed")
    ask_for_link(email="ada@example.org", ip="", now=NOW)
    mail_links(now=NOW)
    link = Notice.objects.get().context["sign_in_url"]
    assert send_due(clock=Clock()).sent == 1
    (mail,) = smtp.messages
    assert mail.subject.startswith("Sign-in link for ")
    assert mail.email["From"] == "Site <site@sender.example>"
    assert "List-Unsubscribe" not in mail.email
    html, text = (mail.email.get_body((part,)) for part in ("html", "plain"))
    for part in (html, text):
        assert part is not None
        said = part.get_content()
        assert set(re.findall(r"https?://[^\s\"<>]+", said)) == {link}
        assert "once, for 30 minutes" in said
    row = Delivery.objects.get()
    assert (row.kind, row.state) == ("sign_in", "sent")
