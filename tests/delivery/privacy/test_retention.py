"""Data that is deleted after a time, data that is kept, and that nothing is sent twice for it."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from delivery.engine.send_pass import send_due
from delivery.issues.pause import NotRetryable, retry_delivery
from delivery.issues.publish import publish
from delivery.models import Attempt, Bounce, Delivery, Issue, MailboxMessage
from delivery.models.delivery import FORGOTTEN_CONTEXT, NOT_FINISHED
from delivery.privacy.retention import prunable, prune_old_data
from tests.console import json_of, printed, refused
from tests.delivery.ledger import Clock, a_mail
from tests.factories import (
    NOW,
    AttemptFactory,
    BounceFactory,
    DeliveryFactory,
    IssueFactory,
    MailboxMessageFactory,
    SubscriptionFactory,
    an_issue,
)
from tests.races import beside
from tests.servers.smtp_server import SmtpServer

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)
LATER = NOW + 91 * DAY
OVER: dict[str, Any] = {"state": "sent", "sent_at": NOW}


def pruned(**options: Any) -> dict[str, int]:
    counts = prune_old_data(now=LATER, days=90, **options)
    return {name: count for name, count in counts.items() if count}


def test_attempts_of_finished_deliveries_are_forgotten() -> None:
    AttemptFactory(delivery=DeliveryFactory(state="failed", issue=IssueFactory(pruned_at=NOW)))
    young = AttemptFactory(delivery=DeliveryFactory(**OVER, issue=Issue.objects.get()), at=NOW + 2 * DAY)
    assert pruned() == {"attempts": 1}
    assert Attempt.objects.get() == young
    assert Delivery.objects.count() == 2


@pytest.mark.parametrize("state", NOT_FINISHED)
def test_nothing_is_forgotten_of_what_is_not_finished(state: str) -> None:
    lease: dict[str, Any] = {"lease_token": "0" * 32, "lease_until": NOW} if state == "sending" else {}
    issue = IssueFactory()
    DeliveryFactory(issue=issue, **OVER)
    AttemptFactory(delivery=DeliveryFactory(issue=issue, state=state, **lease))
    a_mail(state=state, **lease)
    assert pruned() == {}
    issue.refresh_from_db()
    assert (issue.html, issue.pruned_at) == ("<p>The letter.</p>", None)


def test_texts_of_a_finished_issue_are_forgotten_and_its_rows_stay() -> None:
    issue = an_issue()
    DeliveryFactory(issue=issue, **OVER)
    assert pruned() == {"issues": 1}
    issue.refresh_from_db()
    assert (issue.html, issue.text, issue.pruned_at) == ("", "", LATER)
    assert (issue.issue_items.count(), issue.deliveries.get().state) == (2, "sent")
    assert pruned() == {}


def test_a_draft_keeps_its_texts_until_it_is_discarded() -> None:
    issue = IssueFactory(published_at=None)
    assert pruned() == {}
    Issue.objects.update(cancelled_at=NOW)
    assert pruned() == {"issues": 1}
    issue.refresh_from_db()
    assert issue.html == ""


def test_links_of_old_mails_are_forgotten() -> None:
    mail = a_mail(**OVER)
    assert pruned() == {"mails": 1}
    mail.refresh_from_db()
    assert (mail.context, mail.state) == (FORGOTTEN_CONTEXT, "sent")
    assert pruned() == {}
    Delivery.objects.update(state="failed")
    mail.refresh_from_db()
    with pytest.raises(NotRetryable, match="KEEP_DAYS"):
        retry_delivery(delivery=mail, now=LATER)


def test_kept_letters_are_forgotten_but_not_that_they_were_kept() -> None:
    MailboxMessageFactory(delivery=DeliveryFactory(state="stored", issue=IssueFactory(pruned_at=NOW)))
    assert pruned() == {"mailbox": 1}
    assert not MailboxMessage.objects.exists()
    assert Delivery.objects.get().state == "stored"


def test_reports_that_prove_nothing_go_after_a_month() -> None:
    BounceFactory(delivery=None)
    BounceFactory(delivery=DeliveryFactory(**OVER, issue=IssueFactory(pruned_at=NOW)))
    assert pruned() == {"bounces": 1}
    assert Bounce.objects.count() == 1


def test_batches_and_a_budget_bound_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("delivery.privacy.retention.ROWS_A_BATCH", 2)
    issue = IssueFactory(pruned_at=NOW)
    for _ in range(5):
        AttemptFactory(delivery=DeliveryFactory(issue=issue, **OVER))
    heard: list[int] = []
    assert pruned(budget=timedelta(0), told=heard.append) == {"attempts": heard[0]}
    assert len(heard) == 1
    assert pruned(told=heard.append) == {"attempts": 5 - heard[0]} or heard == [5]


@pytest.mark.django_db(transaction=True)
def test_an_issue_published_again_after_pruning_goes_to_nobody_twice(smtp: SmtpServer) -> None:
    issue = an_issue(published_at=None)
    SubscriptionFactory.create_batch(3, subscribable=issue.subscribable)
    assert publish(issue_id=issue.pk, now=NOW) == 3
    send_due(clock=Clock())
    assert pruned() == {"issues": 1}
    assert publish(issue_id=issue.pk, now=LATER) == 0
    send_due(clock=Clock(LATER))
    assert len(smtp.messages) == len(set(smtp.recipients)) == 3


def test_a_letter_that_was_forgotten_cannot_be_tried_again() -> None:
    row = DeliveryFactory(state="failed")
    pruned()
    with pytest.raises(NotRetryable, match="KEEP_DAYS"):
        retry_delivery(delivery=row, now=LATER)
    assert Delivery.objects.get().state == "failed"


def test_an_issue_whose_texts_are_gone_is_still_in_the_archive_and_the_admin(admin_client: Client) -> None:
    issue = an_issue(posts=2)
    DeliveryFactory(issue=issue, **OVER)
    pruned()
    page = admin_client.get(f"/s/{issue.subscribable.name}/archive/{issue.pk}/").content.decode()
    for entry in issue.issue_items.values_list("entry", flat=True):
        assert entry["title"] in page
    assert admin_client.get(f"/s/{issue.subscribable.name}/feed.xml").status_code == 200
    shown = admin_client.get(reverse("admin:delivery_issue_change", args=[issue.pk])).content.decode()
    assert "The text of this email was deleted." in shown


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
def test_a_retry_beside_pruning_keeps_the_texts() -> None:
    row = DeliveryFactory(state="failed")
    _, counts = beside(lambda: retry_delivery(delivery=row, now=LATER), pruned)
    row.issue.refresh_from_db()
    assert (counts, row.issue.pruned_at) == ({}, None)


def test_the_command_counts_first_and_then_forgets() -> None:
    Attempt.objects.all().delete()
    AttemptFactory(delivery=DeliveryFactory(**OVER, issue=IssueFactory(pruned_at=NOW)))
    assert json_of("prune", "--dry-run", "--days", "1")["attempts"] == 1
    assert prunable(now=LATER)["attempts"] == 1
    assert printed("prune", "--days", "1") == "Forgotten: 1 failed attempt.\n"
    assert printed("prune") == "Forgotten: nothing.\n"
    assert "from 1 to" in refused("prune", "--days", "0")
