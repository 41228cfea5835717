"""An issue is edited while it is paused and its worker killed: each person gets the ledger's text."""

from collections import defaultdict

import pytest

from tests.delivery.background import wait_until
from tests.delivery.sites import queue, states_of
from tests.load.installation import Installation, installation
from tests.servers.smtp_server import SmtpServer

__all__ = ["installation"]
LETTERS, CONNECTIONS, NOTES = 3000, 4, ("First correction.", "Second correction.")
PAUSE = """
from django.utils import timezone
from delivery.issues.pause import pause_issue
from delivery.models import Issue, IssueItem
from feeds.parsing.entry import Entry
issue, entry = Issue.objects.get(), Entry(guid="a", title="T", content="<p>T</p>").to_json()
IssueItem.objects.get_or_create(issue=issue, position=0, defaults={"entry": entry})
pause_issue(issue_id=issue.pk, now=timezone.now())
"""
EDIT = """
from django.utils import timezone
from delivery.issues.draft_edits import reword_draft
from delivery.models import Issue
from subscriptions.rules.edits import Wording
reword_draft(issue_id=Issue.objects.get().pk, wording=Wording("", {note!r}, ""), now=timezone.now())
"""
RESUME = """
from datetime import timedelta
from django.utils import timezone
from delivery.engine.claim import reap_expired
from delivery.issues.pause import resume_issue
from delivery.models import Delivery, Issue
reap_expired(now=timezone.now() + timedelta(minutes=10))
resume_issue(issue_id=Issue.objects.get().pk, now=timezone.now())
Delivery.objects.filter(state__in=("queued", "deferred")).update(due_at=timezone.now())
"""
LEDGER = """
from delivery.models import Delivery
print(dict(Delivery.objects.values_list("destination__core", "version")))
"""


@pytest.mark.slow
def test_each_person_gets_the_text_that_the_ledger_says_though_workers_are_killed(
    installation: Installation, smtp: SmtpServer
) -> None:
    smtp.state.delay = 0.02
    queue(installation, LETTERS, concurrency=CONNECTIONS)
    for done, note in enumerate(NOTES, start=1):
        worker = installation.start("manage.py", "send")
        smtp.wait_for(len(smtp.messages) + 300, timeout=60)
        if done == 2:
            installation.kill(worker)
        installation.script(PAUSE)
        if done == 1:
            wait_until(lambda: "sending" not in states_of(installation))
            installation.kill(worker)
        installation.script(EDIT.format(note=note))
        installation.script(RESUME)
    smtp.state.delay = 0
    installation.manage("send")
    wait_until(lambda: set(states_of(installation)) == {"sent"}, 60)
    ledger: dict[str, int] = eval(installation.script(LEDGER), {})  # noqa: S307 - our own output
    got: dict[str, set[int]] = defaultdict(set)
    for message in smtp.messages:
        said = [note.encode() in message.data for note in NOTES]
        got[message.recipient].add(said.index(True) + 1 if any(said) else 0)
    assert {name: {version} for name, version in ledger.items()} == got
    assert set(ledger.values()) == {0, 1, 2}
    assert len(smtp.messages) - LETTERS <= 2 * CONNECTIONS
