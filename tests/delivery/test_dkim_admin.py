"""DKIM keys in the admin: two fields to create one, its DNS record, and key rotation."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from delivery.accounts.dkim_keys import make_key, retire_key
from delivery.models import DkimKey
from tests.factories import NOW
from tests.site.test_admin_journey import act, submit, text

pytestmark = pytest.mark.django_db


def made(**changes: Any) -> DkimKey:
    return make_key(**{"domain": "example.org", "algorithm": "ed25519", "now": NOW, **changes})


def test_the_form_offers_the_senders_domain(admin_client: Client, settings: Any) -> None:
    settings.DEFAULT_FROM_EMAIL = "Letters <letters@sender.example>"
    assert 'value="sender.example"' in text(admin_client.get(reverse("admin:delivery_dkimkey_add")))
    settings.DEFAULT_FROM_EMAIL = "letters@127.0.0.1"
    assert 'value="127.0.0.1"' not in text(admin_client.get(reverse("admin:delivery_dkimkey_add")))


def test_a_key_is_made_and_its_record_shown(admin_client: Client) -> None:
    page = text(submit(admin_client, "delivery_dkimkey_add", {"domain": "example.org", "algorithm": "rsa"}))
    key = DkimKey.objects.get()
    assert (key.domain, key.algorithm, key.state) == ("example.org", "rsa", "active")
    assert key.record.name in page
    assert key.record.value.replace("+", "&#x2B;") in page or key.record.value in page
    assert "PRIVATE" not in page


def test_a_refusal_stands_at_its_field(admin_client: Client) -> None:
    made()
    given = {"domain": "example.org", "algorithm": "ed25519", "selector": "feedletter-ed25519"}
    assert "has a key with the selector" in text(submit(admin_client, "delivery_dkimkey_add", given))
    assert "isn’t a domain" in text(
        submit(admin_client, "delivery_dkimkey_add", {"domain": "x y", "algorithm": "rsa"})
    )
    assert DkimKey.objects.count() == 1


def test_another_key_takes_over(admin_client: Client) -> None:
    first, second = made(), made()
    chosen = {"action": "activate", "_selected_action": [second.pk], "confirmed": "1"}
    submit(admin_client, "delivery_dkimkey_changelist", chosen)
    first.refresh_from_db()
    second.refresh_from_db()
    assert (first.state, second.state) == ("retired", "active")
    chosen["_selected_action"] = [first.pk, second.pk]
    assert "at most 1 at once" in text(submit(admin_client, "delivery_dkimkey_changelist", chosen))


def test_retiring_and_deleting_ask_first(admin_client: Client) -> None:
    key, other = made(), made(domain="other.example")
    assert "will no longer be signed with" in text(act(admin_client, "delivery_dkimkey", "retire", key))
    assert DkimKey.objects.filter(active=True).count() == 2
    retire_key(key, now=NOW)
    assert "will be deleted for good" in text(act(admin_client, "delivery_dkimkey", "drop", key))
    chosen = {"action": "drop", "_selected_action": [key.pk, other.pk], "confirmed": "1"}
    submit(admin_client, "delivery_dkimkey_changelist", chosen)
    assert list(DkimKey.objects.all()) == [other]
