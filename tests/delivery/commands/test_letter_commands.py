"""Commands for letters that an editor writes."""

from pathlib import Path

import pytest

from common.clock import utcnow
from delivery.models import Broadcast, Delivery
from subscriptions.subscribers.tags import tag_people
from tests.console import json_of, printed, refused
from tests.delivery.ledger import HOUR
from tests.factories import BroadcastFactory, SubscribableFactory, SubscriptionFactory

pytestmark = pytest.mark.django_db


def test_a_letter_is_written_changed_shown_and_sent(tmp_path: Path) -> None:
    SubscriptionFactory.create_batch(2, subscribable=SubscribableFactory(name="weekly"))
    file = tmp_path / "summer.md"
    file.write_text("We *rest*.", encoding="utf-8")
    row = json_of("write_letter", "weekly", "--subject", "Summer", "--file", str(file))
    pk = str(row["id"])
    assert (row["state"], row["newsletter"], row["subject"]) == ("draft", "weekly", "Summer")
    assert json_of("alter_letter", pk, "--subject", "Rest")["subject"] == "Rest"
    assert "Give what to change" in refused("alter_letter", pk)
    assert "We rest." in printed("show_letter", pk)
    assert "<em>rest</em>" in printed("show_letter", pk, "--html")
    assert printed("show_letter", pk, "--markdown").strip() == "We *rest*."
    assert "We’ve sent a test to ada@example.org." in printed("send_letter", pk, "--test", "ada@example.org")
    row = json_of("send_letter", pk)
    assert (row["state"], Delivery.objects.filter(issue=row["issue"]).count()) == ("sent", 2)
    assert "was already sent" in refused("send_letter", pk)
    assert "was already sent" in refused("drop_letter", pk)


def test_a_letter_is_for_a_segment_that_can_be_counted(tmp_path: Path) -> None:
    weekly = SubscribableFactory(name="weekly")
    rows = SubscriptionFactory.create_batch(3, subscribable=weekly)
    tag_people(destinations=[rows[0].destination_id], names=["vip"])
    file = tmp_path / "summer.md"
    file.write_text("We *rest*.", encoding="utf-8")
    written = ("write_letter", "weekly", "--subject", "Summer", "--file", str(file))
    assert "“vpi”" in refused(*written, "--tag", "vpi")
    row = json_of(*written, "--tag", "vip")
    pk = str(row["id"])
    assert row["to"] == "those with the tag “vip”"
    assert printed("send_letter", pk, "--count").strip() == "1 of 3 subscribers: those with the tag “vip”"
    assert json_of("alter_letter", pk, "--to-all")["to"] == "everybody who is confirmed"
    assert "everybody without" in json_of("alter_letter", pk, "--not-tag", "vip")["to"]
    assert "give it alone" in refused("alter_letter", pk, "--not-tag", "vip", "--to-all")
    json_of("send_letter", pk)
    assert Delivery.objects.count() == 2


def test_a_letter_is_scheduled_and_taken_off_again() -> None:
    pk = str(BroadcastFactory().pk)
    at = (utcnow() + HOUR).isoformat()
    assert json_of("send_letter", pk, "--at", at)["send_at"] == at
    assert [row["id"] for row in json_of("list_letters", "--state", "scheduled")] == [int(pk)]
    assert "is scheduled" in refused("alter_letter", pk, "--subject", "Other")
    assert json_of("send_letter", pk, "--undo")["state"] == "draft"
    assert "has passed" in refused("send_letter", pk, "--at", "2020-03-01T07:00+00:00")
    assert "is deleted" in printed("drop_letter", pk)
    assert not Broadcast.objects.exists()
    assert "There is no email" in refused("show_letter", pk)
    assert printed("list_letters").strip() == "There are no such emails."
