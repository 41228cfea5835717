"""Undoing an import: everything it did, but nothing that people did since."""

import io
from datetime import timedelta
from typing import Any

import pytest

from common.uploads import NotPossible
from subscriptions.lists.importer import import_subscribers
from subscriptions.lists.reading import Terms
from subscriptions.lists.undo import forget_import_changes, record_import, undo_import
from subscriptions.models import (
    Consent,
    Destination,
    ListChange,
    ListImport,
    Subscription,
    Suppression,
    Tagging,
)
from subscriptions.rules.origin import Origin
from subscriptions.subscribers.leave import leave
from subscriptions.subscribers.sign_up import sign_up
from tests.factories import NOW, SubscribableFactory, SubscriptionFactory, UnconfirmedFactory

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(hours=1)


def taken(text: str, newsletter: Any, status: str = "", monkeypatch: Any = None) -> ListImport:
    terms = Terms(status)
    row = record_import(subscribable=newsletter, terms=terms, name="list.csv", now=NOW)
    lines = io.StringIO(text, newline="")
    import_subscribers(subscribable=newsletter, lines=lines, now=NOW, terms=terms, into=row)
    return row


def state() -> list[Any]:
    rows = Subscription.objects.order_by("pk").values_list("pk", "status", "confirmed_at", "left_at")
    return [*rows, *Suppression.objects.values_list("core"), *Destination.objects.values_list("core")]


def test_all_is_as_it_was_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("subscriptions.lists.reading.LINES_A_BATCH", 2)
    newsletter = SubscribableFactory()
    here = SubscriptionFactory(subscribable=newsletter, confirmed_at=NOW - timedelta(days=9))
    waiting = UnconfirmedFactory(subscribable=newsletter, confirm_nonce="")
    also = SubscriptionFactory(destination__core="also@example.org")
    before = state()
    row = taken(
        f"email,status,tags\n{here.destination.core},unsubscribed,\n{waiting.destination.core},confirmed,\n"
        f"new@example.org,confirmed,vip\nbad@example.org,suppressed,\n{also.destination.core},confirmed,vip\n",
        newsletter,
    )
    assert state() != before
    assert ListChange.objects.count() == 3
    done = undo_import(row, now=LATER)
    assert state() == before
    assert done == {"removed": 3, "restored": 2, "unsuppressed": 1}
    assert not Tagging.objects.exists()
    assert not ListChange.objects.exists()
    row.refresh_from_db()
    assert row.state == "undone"


def test_who_did_something_since_stays_as_they_are() -> None:
    newsletter = SubscribableFactory()
    text = "".join(f"{name}@example.org,confirmed\n" for name in ("left", "asked", "quiet"))
    row = taken(f"email,status\n{text}waiting@example.org,unconfirmed\n", newsletter)
    rows = {each.destination.core.partition("@")[0]: each for each in newsletter.subscriptions.all()}
    leave(subscription=rows["left"], now=LATER)
    Consent.objects.create(subscription=rows["asked"], act="asked", at=LATER)
    sign_up(subscribables=[newsletter], email="waiting@example.org", name="", origin=Origin(), now=LATER)
    done = undo_import(row, now=LATER)
    assert (done["removed"], done["kept"]) == (1, 3)
    assert set(newsletter.subscriptions.values_list("destination__core", "status")) == {
        ("left@example.org", "unsubscribed"),
        ("asked@example.org", "confirmed"),
        ("waiting@example.org", "unconfirmed"),
    }


def test_it_is_possible_for_a_week_and_once() -> None:
    newsletter = SubscribableFactory()
    row = taken("email\na@example.org\n", newsletter)
    forget_import_changes(NOW + timedelta(days=6))
    assert ListChange.objects.exists()
    with pytest.raises(NotPossible, match="the last 7 days"):
        undo_import(row, now=NOW + timedelta(days=7))
    undo_import(row, now=NOW + timedelta(days=6))
    with pytest.raises(NotPossible):
        undo_import(row, now=NOW + timedelta(days=6))
    other = taken("email\na@example.org\n", newsletter)
    forget_import_changes(NOW + timedelta(days=8))
    with pytest.raises(NotPossible):
        undo_import(other, now=LATER)
