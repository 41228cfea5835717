"""Issues on the command line.

Commands for letters that an editor writes.
"""

from datetime import timedelta
from pathlib import Path

import pytest

from common.clock import utcnow
from delivery.models import Broadcast, Delivery, Issue
from subscriptions.models import Subscribable
from subscriptions.subscribers.tags import tag_people
from tests.console import json_of, printed, refused
from tests.delivery.ledger import HOUR, queued, states
from tests.factories import (
    BroadcastFactory,
    FeedFactory,
    IssueFactory,
    SubscribableFactory,
    SubscriptionFactory,
    SuppressionFactory,
)

pytestmark = pytest.mark.django_db
KEYS = ["id", "newsletter", "title", "state", "created_at", "release_at", "published_at"]
KEYS += ["recipients", "arrived", "waiting", "held", "failed", "cancelled"]
ISSUE_COMMAND_HOUR = timedelta(hours=1)


def a_draft(readers: int = 2) -> Issue:
    issue: Issue = IssueFactory(published_at=None)
    SubscriptionFactory.create_batch(readers, subscribable=issue.subscribable)
    return issue


def test_show_issue_tells_counts_and_the_domains_in_trouble() -> None:
    issue = IssueFactory()
    queued(2, issue=issue, state="failed", domain="refuses.example")
    queued(3, issue=issue, state="sent", sent_at=utcnow())
    row = json_of("show_issue", str(issue.pk))
    assert (row["sent"], row["failed"], row["per_minute"], row["bounced"]) == (3, 2, 3, 0)
    assert row["domains"][0]["domain"] == "refuses.example"
    assert "at refuses.example" in printed("show_issue", str(issue.pk))
    assert "There is no issue 999." in refused("show_issue", "999")


def test_a_draft_is_approved_now_or_for_a_time() -> None:
    issue = a_draft()
    at = (utcnow() + ISSUE_COMMAND_HOUR).isoformat()
    row = json_of("approve_issue", str(issue.pk), "--at", at)
    assert (row["state"], row["release_at"]) == ("draft", at)
    assert "with its offset" in refused("approve_issue", str(issue.pk), "--at", "2026-03-01T07:00")
    assert "has passed" in refused("approve_issue", str(issue.pk), "--at", "2020-03-01T07:00+00:00")
    row = json_of("approve_issue", str(issue.pk))
    assert (row["state"], row["recipients"], row["waiting"]) == ("sending", 2, 2)
    assert "was already sent" in refused("approve_issue", str(issue.pk))


def test_a_draft_is_discarded_and_taken_back() -> None:
    issue = a_draft()
    assert json_of("discard_issue", str(issue.pk))["state"] == "cancelled"
    assert "was discarded" in refused("approve_issue", str(issue.pk))
    assert json_of("discard_issue", str(issue.pk), "--undo")["state"] == "draft"


def test_an_issue_is_paused_resumed_and_cancelled() -> None:
    issue = IssueFactory()
    queued(2, issue=issue)
    row = json_of("pause_issue", str(issue.pk))
    assert (row["state"], row["held"]) == ("paused", 2)
    row = json_of("resume_issue", str(issue.pk))
    assert (row["state"], row["waiting"]) == ("sending", 2)
    row = json_of("cancel_issue", str(issue.pk))
    assert (row["state"], row["cancelled"]) == ("cancelled", 2)
    assert json_of("cancel_issue", str(a_draft().pk))["state"] == "cancelled"


def test_retry_failed_says_how_many_and_whom_it_skips() -> None:
    issue = IssueFactory()
    fine, suppressed = queued(2, issue=issue, state="failed")
    SuppressionFactory(core=suppressed.destination.core)
    dry = json_of("retry_failed", str(issue.pk), "--dry-run")
    assert dry == {"failed": 2, "skipped": 1, "queued": 0}
    assert states() == {"failed": 2}
    said = printed("retry_failed", str(issue.pk))
    assert said.startswith("1 email queued again. 1 skipped: suppressed")
    assert Delivery.objects.get(state="queued").pk == fine.pk


def test_send_late_says_how_many() -> None:
    issue = IssueFactory()
    SubscriptionFactory(subscribable=issue.subscribable, confirmed_at=issue.published_at + ISSUE_COMMAND_HOUR)
    assert json_of("send_late", str(issue.pk), "--dry-run") == {"late": 1, "queued": 0}
    assert printed("send_late", str(issue.pk)).strip() == "Sending to 1 late subscriber."
    assert json_of("send_late", str(issue.pk)) == {"late": 0, "queued": 0}


def test_a_newsletter_is_paused_and_resumed() -> None:
    issue = IssueFactory()
    queued(1, issue=issue)
    name = issue.subscribable.name
    assert json_of("pause_newsletter", name, "--reason", "Because.")["changed"] is True
    assert Subscribable.objects.get().sending_paused_reason == "Because."
    assert "was paused already" in printed("pause_newsletter", name)
    assert json_of("list_issues")[0]["state"] == "paused"
    Delivery.objects.update(state="held", held_for="pause")
    assert json_of("resume_newsletter", name)["queued"] == 1


def test_a_newsletter_is_defined_with_its_approval() -> None:
    feed = str(FeedFactory().pk)
    usual = ("define_subscribable", "letters", "--feed", feed, "--from", "Blog <blog@example.org>")
    assert "--approval-minutes: Say after how many minutes" in refused(*usual, "--approval", "delay")
    said = refused(*usual, "--approval", "click", "--approval-minutes", "5")
    assert "--approval-minutes: Only issues that are sent after a delay" in said
    json_of(*usual, "--approval", "delay", "--approval-minutes", "30")
    letters = Subscribable.objects.get()
    assert (letters.approval, letters.approval_minutes) == ("delay", 30)
    json_of("alter_subscribable", "letters", "--approval", "click")
    letters.refresh_from_db()
    assert (letters.approval, letters.approval_minutes) == ("click", None)


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
