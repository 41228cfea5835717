"""An issue is edited while it is paused and its worker killed: each person gets the ledger's text."""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.delivery.background import wait_until
from tests.delivery.sites import queue, states_of
from tests.examples import NIGHTLY
from tests.load.installation import Installation, postgres_installation, sqlite_installation
from tests.servers.smtp_server import SmtpServer

LETTERS, CONNECTIONS = 5000, 4
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


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=NIGHTLY)])
def site(request: Any, tmp_path: Path, smtp: SmtpServer) -> Iterator[Installation]:
    if request.param == "sqlite":
        with sqlite_installation(tmp_path, EMAIL_URL=smtp.url) as made:
            yield made
    else:
        server = request.getfixturevalue("postgres_url")
        with postgres_installation(tmp_path, server, EMAIL_URL=smtp.url) as made:
            yield made


@pytest.mark.slow
def test_each_person_gets_the_text_that_the_ledger_says_though_workers_are_killed(
    site: Installation, smtp: SmtpServer
) -> None:
    smtp.state.delay = 0.004
    queue(site, LETTERS, concurrency=CONNECTIONS)
    notes = ["First correction.", "Second correction."]
    for done, note in enumerate(notes, start=1):
        worker = site.start("manage.py", "send")
        smtp.wait_for(300 * done, timeout=60)
        if done == 2:
            site.kill(worker)
        site.script(PAUSE)
        if done == 1:
            wait_until(lambda: "sending" not in states_of(site))
            site.kill(worker)
        site.script(EDIT.format(note=note))
        site.script(RESUME)
    smtp.state.delay = 0
    site.manage("send")
    wait_until(lambda: set(states_of(site)) == {"sent"}, 60)
    ledger: dict[str, int] = eval(site.script(LEDGER), {})  # noqa: S307 - our own output
    got: dict[str, set[int]] = defaultdict(set)
    for message in smtp.messages:
        text = message.email.get_body(("plain",)).get_content()  # type: ignore[union-attr]
        said = [note in text for note in notes]
        got[message.recipient].add(said.index(True) + 1 if any(said) else 0)
    assert {name: {version} for name, version in ledger.items()} == got
    assert set(ledger.values()) == {0, 1, 2}
    assert len(smtp.messages) - LETTERS <= 2 * CONNECTIONS
