"""A worker is killed between an edit and its record: the result is one post with the right text.

An issue is edited while it is paused and its worker killed: each person gets the ledger's text.
"""

import time
from collections import defaultdict

import pytest

from tests.delivery.background import wait_until
from tests.delivery.sites import queue, states_of
from tests.examples import NIGHTLY
from tests.load.installation import Installation, installation
from tests.servers.mastodon_instance import TOKEN, MastodonInstance, Reply
from tests.servers.smtp_server import SmtpServer

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
SELECT core, version FROM delivery_delivery d JOIN subscriptions_destination x ON x.id = d.destination_id
"""
__all__ = ["installation"]
POSTED = """
from django.utils import timezone
from delivery.issues.publish import publish
from delivery.models import Issue, IssueItem, Lane
from feeds.models import Feed, Item
from feeds.parsing.entry import Entry
from subscriptions.models import Destination, Subscribable, Subscription
now = timezone.now()
feed = Feed.objects.create(url="https://blog.example/feed.xml", host="blog.example")
seen = {{"first_seen": now, "stable_since": now, "last_checked": now}}
item = Item.objects.create(feed=feed, guid="a", guid_hash="a" * 64, title="Bees", state="cleared", **seen)
bridge = Subscribable.objects.create(
    name="bees", channel="mastodon", sign_up="closed",
    options={{"edit_corrected": "on", "delete_withdrawn": "on"}})
bridge.feeds.add(feed)
to = Destination.objects.create(
    kind="mastodon", core="bot@fake.example", label="bot", secrets={{"access_token": {token!r}}},
    config={{"account": "bot", "instance_url": {url!r}}})
Subscription.objects.create(subscribable=bridge, destination=to, status="confirmed")
issue = Issue.objects.create(subscribable=bridge, within_type_id="1", token="t" * 24, title="T",
                             subject="T", html="<p>Bees</p>", text="Bees")
entry = Entry(guid="a", title="Bees", link="https://blog.example/bees").to_json()
IssueItem.objects.create(issue=issue, item=item, position=0, entry=entry, content_hash="1")
publish(issue_id=issue.pk, now=now)
Lane.objects.update(spacing_seconds=0)
"""
NEWS = """
from django.utils import timezone
from feeds.models import TrackedItem
from feeds.parsing.entry import Entry
now = timezone.now()
entry = Entry(guid="a", title="Bees, corrected", link="https://blog.example/bees").to_json()
corrected = {{"news": "corrected", "seen_hash": "2", "seen_since": now, "entry": entry}}
withdrawn = {{"news": "withdrawn", "missing_since": now}}
print(TrackedItem.objects.update(**{which}))
"""
LATER = """
from datetime import timedelta
from django.utils import timezone
from delivery.engine.claim import reap_expired
from delivery.models import Delivery
print(reap_expired(now=timezone.now() + timedelta(minutes=2)))
Delivery.objects.update(due_at=timezone.now())
"""
CHANGES = "SELECT kind, state FROM delivery_delivery WHERE kind <> 'issue'"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("which", "method", "words"),
    [("corrected", "PUT", ["Bees, corrected"]), pytest.param("withdrawn", "DELETE", [], marks=NIGHTLY)],
)
def test_a_worker_killed_after_a_change_and_before_its_record(
    installation: Installation, which: str, method: str, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with MastodonInstance() as instance:
        installation.script(POSTED.format(token=TOKEN, url=instance.url))
        installation.manage("send")
        assert len(instance.statuses) == 1
        assert installation.script(NEWS.format(which=which)).strip() == "1"
        # The instance processes the request, and its response never arrives.
        monkeypatch.setattr(instance, "posts", lambda request: request.method == method)
        instance.says = Reply(takes=True, silent=True)
        worker = installation.start("manage.py", "send")
        end = time.monotonic() + 60
        while method not in [request.method for request in instance.requests]:
            assert time.monotonic() < end, installation.log()
            time.sleep(0.05)
        installation.kill(worker)
        instance.says = None
        assert installation.script(LATER).strip() == "1"
        installation.manage("send")
        assert [status["text"].split(" https")[0] for status in instance.statuses] == [
            f"[bees] New Post: {said}" for said in words
        ]
        assert [request.method for request in instance.requests].count(method) == 2
        kind = "edit" if method == "PUT" else "delete"
        assert installation.rows(CHANGES) == [(kind, "sent")]


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
        installation.script(EDIT.format(note=note) + RESUME)
    smtp.state.delay = 0
    installation.manage("send")
    wait_until(lambda: set(states_of(installation)) == {"sent"}, 60)
    ledger = dict(installation.rows(LEDGER))
    got: dict[str, set[int]] = defaultdict(set)
    for message in smtp.messages:
        said = [note.encode() in message.data for note in NOTES]
        got[message.recipient].add(said.index(True) + 1 if any(said) else 0)
    assert {name: {version} for name, version in ledger.items()} == got
    assert set(ledger.values()) == {0, 1, 2}
    assert len(smtp.messages) - LETTERS <= 2 * CONNECTIONS
