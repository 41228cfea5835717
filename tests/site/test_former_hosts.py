"""After a change of the site's address, links in older letters still work."""

import re
import runpy
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.test import Client

from common.clock import utcnow
from delivery.engine.send_pass import send_due
from delivery.issues.complete import complete_due
from delivery.models import MailboxMessage
from feedletter_site import env
from subscriptions import links
from subscriptions.models import Subscription
from subscriptions.rules.sign_up import Suffix, invitation
from tests.delivery.collecting import a_newsletter, collect
from tests.factories import UnconfirmedFactory

SETTINGS = str(Path(__file__).parents[2] / "feedletter_site" / "settings.py")
OLD, NEW = "https://old.example.org", "https://new.example.org"


def served(monkeypatch: pytest.MonkeyPatch, **given: str) -> list[str]:
    """Return ALLOWED_HOSTS as set by these variables."""
    for name, value in {"SECRET_KEY": "for-tests-only-" * 4, "SITE_URL": NEW, **given}.items():
        monkeypatch.setenv(name, value)
    for registry in ("declared", "read"):
        monkeypatch.setattr(env, registry, {})
    hosts: list[str] = runpy.run_path(SETTINGS)["ALLOWED_HOSTS"]
    return hosts


def test_former_hosts_are_answered_whatever_the_allowed_ones_are(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "old.example.org" not in served(monkeypatch)
    usual = served(monkeypatch, FORMER_HOSTS="old.example.org, Bücher.example")
    assert {"new.example.org", "127.0.0.1", "old.example.org", "xn--bcher-kva.example"} <= set(usual)
    explicit = served(monkeypatch, ALLOWED_HOSTS="new.example.org", FORMER_HOSTS="old.example.org")
    assert explicit == ["new.example.org", "old.example.org"]


@pytest.fixture
def letter(settings: Any, monkeypatch: pytest.MonkeyPatch) -> EmailMessage:
    """Return a letter that was sent before the site's address changed."""
    settings.SITE_URL, settings.EMAIL_URL = OLD, "mailbox:"
    newsletter = a_newsletter("each", readers=1)
    collect(newsletter, now=utcnow())
    complete_due()
    send_due()
    settings.SITE_URL = NEW
    settings.ALLOWED_HOSTS = served(monkeypatch, FORMER_HOSTS="old.example.org")
    return message_from_bytes(bytes(MailboxMessage.objects.get().raw), policy=policy.default)


@pytest.fixture
def strict() -> Client:
    return Client(enforce_csrf_checks=True, headers={"host": "old.example.org"})


@pytest.mark.django_db
def test_every_link_of_an_old_letter_opens_a_page(letter: EmailMessage, strict: Client) -> None:
    body = "".join(part.get_content() for part in letter.walk() if not part.is_multipart())
    found = set(re.findall(rf'{OLD}([^\s"<>)]*)', body))
    assert {path.split("/")[1] for path in found} >= {"unsubscribe", "manage", "s"}
    assert {path: strict.get(path).status_code for path in found} == dict.fromkeys(found, 200)


@pytest.mark.django_db
def test_one_click_of_an_old_letter_unsubscribes(letter: EmailMessage, strict: Client) -> None:
    (address,) = re.findall(rf"<({OLD}[^>]*)>", letter["List-Unsubscribe"])
    answer = strict.post(urlsplit(address).path, {"List-Unsubscribe": "One-Click"})
    assert (answer.status_code, Subscription.objects.get().status) == (200, "unsubscribed")


@pytest.mark.django_db
def test_the_host_of_another_site_is_still_refused(letter: EmailMessage) -> None:
    assert Client(headers={"host": "older.example.org"}).get("/").status_code == 400


@pytest.mark.django_db
def test_the_other_links_of_old_mails_act(letter: EmailMessage, strict: Client, settings: Any) -> None:
    """Confirmations, the manage page, upstream's links and pictures."""
    new = UnconfirmedFactory(upstream_id=7)
    assert strict.post(urlsplit(links.confirm_url(new, now=utcnow())).path).status_code == 303
    new.refresh_from_db()
    assert new.status == "confirmed"
    assert strict.get(urlsplit(links.manage_url(new)).path).status_code == 200
    settings.UPSTREAM_SALT = "salt"
    proof = invitation(7, salt="salt", suffix=Suffix.REMOVE)
    answer = strict.post(f"/v0/subscription/remove?subscriptionId=7&invitation={proof}")
    new.refresh_from_db()
    assert (answer.status_code, new.status) == (200, "unsubscribed")
    assert strict.get("/pictures/none").status_code == 404
