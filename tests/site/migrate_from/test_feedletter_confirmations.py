"""People whom feedletter never asked to confirm are asked by us, once, when an admin says so."""

import json
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from delivery.letters.notices import take_notices
from delivery.models import Delivery
from feedletter_site.migrate_from import take_over
from feedletter_site.migrate_from.confirmations import send_confirmations
from feedletter_site.models import Arrival
from subscriptions.models import Notice, Subscription, Suppression
from subscriptions.subscribers.leave import expire_sign_ups
from subscriptions.subscribers.sign_up import confirm_subscriptions
from tests.site.migrate_from.feedletter_dump import NOW, ZONE, dump, run, site
from tests.site.migrate_from.pages import act, page
from tests.site.migrate_from.test_admin_arrivals import work
from tests.site.migrate_from.test_cordfeeder import words
from tests.site.migrate_from.test_feedletter_admin import choose

__all__ = ["dump", "site"]
SECOND_DATABASE = True
pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


def new_person() -> Subscription:
    return Subscription.objects.get(destination__core="new@example.org")


def command() -> dict[str, Any]:
    out = StringIO()
    call_command("send_confirmations", "--json", stdout=out)
    facts: dict[str, Any] = json.loads(out.getvalue())
    return facts


def test_each_is_asked_once_and_the_link_works_from_then_on(dump: Path) -> None:
    facts = run(dump)
    assert "After the import, send ours" in words(facts, "changed")
    assert not Notice.objects.exists()
    late = NOW + timedelta(days=30)
    assert (send_confirmations(now=late), send_confirmations(now=late + HOUR)) == (1, 0)
    run(dump)
    assert command() == {"queued": 0}
    take_notices(now=late)
    mail = Delivery.objects.get(kind="confirmation")
    assert mail.destination.core == "new@example.org"
    expire_sign_ups(now=late + HOUR)
    token = mail.context["confirm_url"].rstrip("/").rpartition("/")[2]
    confirm_subscriptions(token=token, now=late + 47 * HOUR)
    assert new_person().status == "confirmed"


def test_who_never_confirms_is_forgotten_as_after_a_sign_up_here(dump: Path) -> None:
    run(dump)
    expire_sign_ups(now=NOW + timedelta(days=300))
    assert new_person()
    assert command() == {"queued": 1}
    Subscription.objects.update(added_at=NOW)
    expire_sign_ups(now=new_person().consents.latest("at").at + timedelta(days=30))
    assert not Subscription.objects.filter(destination__core="new@example.org").exists()


@pytest.mark.parametrize("case", ["confirmed", "left", "suppressed", "asked here", "deleted"])
def test_nobody_else_is_asked(dump: Path, case: str) -> None:
    run(dump)
    row = new_person()
    if case == "suppressed":
        Suppression.objects.create(core="new@example.org")
    elif case == "deleted":
        row.delete()
    else:
        changes = {
            "confirmed": {"status": "confirmed"},
            "left": {"status": "unsubscribed"},
            "asked here": {"confirm_nonce": "x"},
        }
        Subscription.objects.filter(pk=row.pk).update(**changes[case])
    assert command() == {"queued": 0}
    assert not Notice.objects.exists()


def test_two_numbers_of_one_person_are_asked_once(dump: Path) -> None:
    text = dump.read_text()
    people = next(line for line in text.splitlines() if line.startswith("14\t"))
    mails = next(line for line in text.splitlines() if "[river] Please confirm" in line)
    second = people.replace("14\t", "21\t", 1).replace("new@example.org", "New@example.org")
    again = mails.replace("5\t", "6\t", 1).replace("\tnew@example.org\t", "\tNew <New@example.org>\t")
    text = text.replace(people, f"{people}\n{second}").replace(mails, f"{mails}\n{again}")
    dump.write_text(text)
    run(dump)
    assert command() == {"queued": 1}
    assert command() == {"queued": 0}


def test_a_button_of_the_import_sends_them(
    admin_client: Client, dump: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(take_over, "utcnow", lambda: NOW)
    choose(admin_client, dump, zone=ZONE)
    work()
    row = Arrival.objects.get()
    assert "Send confirmations</" not in page(admin_client, row)
    act(admin_client, row, "run")
    work()
    assert "Send confirmations</" in page(admin_client, row)
    assert "1 confirmation will be sent." in act(admin_client, row, "confirm", confirmed="1")
    assert Notice.objects.get().destination.core == "new@example.org"
    assert "Send confirmations</" not in page(admin_client, row)
