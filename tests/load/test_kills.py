"""The send worker is killed at random moments: nobody misses the letter, few get it twice.

The place stage is killed again and again: no post is missing in a channel or doubled.
"""

import json
import random
import time
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.delivery.sites import states_of
from tests.examples import NIGHTLY, examples
from tests.load.installation import Installation, installation
from tests.servers.smtp_server import SmtpServer

PLACING_KILLS = examples(100)
POSTS, CHANNELS = 300, 10
# The killed process is a fork: a hundred program starts would take minutes.
SCRIPT = f"""
import json, os, random, signal, time
from django.db import connections
from common.clock import utcnow
from feeds.models import Feed
from reader.entries.place import place_due
from reader.models import Channel, Entry, Follow, TimelineEntry, Unread
from reader.people.readers import add_reader

feed = Feed.objects.create(url="https://blog.example/feed", read_by={CHANNELS})
for number in range({CHANNELS}):
    Follow.objects.create(channel=Channel.objects.get(
        reader=add_reader(name=f"reader{{number}}", now=utcnow()), uid="home"), feed=feed)

def more():
    now = utcnow()
    Entry.objects.bulk_create([Entry(feed=feed, hash="x", jf2={{}}, kind="note", seen_at=now, due_at=now)
                               for _ in range({POSTS})], batch_size=500)

more()
chance, killed, made = random.Random(2026), 0, {POSTS}
while killed < {PLACING_KILLS}:
    if Entry.objects.due(utcnow()).count() < {POSTS} // 4:
        more()
        made += {POSTS}
    placed = TimelineEntry.objects.count()
    connections.close_all()
    child = os.fork()
    if not child:
        try:
            place_due()
        finally:
            os._exit(0)
    while TimelineEntry.objects.count() == placed:
        time.sleep(0.002)
    connections.close_all()
    time.sleep(chance.uniform(0, 0.05))
    os.kill(child, signal.SIGKILL)
    killed += os.waitpid(child, 0)[1] == signal.SIGKILL
place_due()
whole = Entry.objects.filter(placed_at__isnull=False, due_at=None).count()
pairs = TimelineEntry.objects.values("channel", "entry").distinct().count()
print(json.dumps({{"killed": killed, "made": made, "placed": whole, "places": TimelineEntry.objects.count(),
                  "unread": Unread.objects.count(), "pairs": pairs}}))
"""
__all__ = ["installation"]
pytestmark = pytest.mark.slow
KILLS = max(examples(5), 2)
RECIPIENTS = 100 * KILLS
CONNECTIONS = 10
RATE = 25.0
SECONDS = 300
# The leases of killed workers last a minute.
EXPIRE = (
    "from django.utils.timezone import now; from delivery.models import Delivery; "
    'Delivery.objects.filter(state="sending").update(lease_until=now())'
)
SETUP = f"""
from django.utils import timezone
from delivery.models import Issue, Lane
from delivery.issues.publish import publish
from subscriptions.models import Destination, Subscribable, Subscription
letter = Subscribable.objects.create(name="killed", title="Killed")
made = Destination.objects.bulk_create(
    Destination(kind="email", core=f"reader{{n}}@example.org", label=f"reader{{n}}@example.org",
                config={{"address": f"reader{{n}}@example.org"}}) for n in range({RECIPIENTS}))
Subscription.objects.bulk_create(
    Subscription(subscribable=letter, destination=row, status="confirmed") for row in made)
issue = Issue.objects.create(subscribable=letter, within_type_id="1", token="t" * 24, title="T",
                             subject="Killed", html="<p>Hello</p>", text="Hello")
Lane.objects.create(kind="email", account="default", concurrency={CONNECTIONS}, rate={RATE}, burst=20)
print(publish(issue_id=issue.pk, now=timezone.now()))
"""


@pytest.fixture
def smtp() -> Iterator[SmtpServer]:
    with SmtpServer() as server:
        yield server


@pytest.mark.parametrize(
    "installation",
    ["sqlite", pytest.param("postgres", marks=NIGHTLY), pytest.param("pooler", marks=NIGHTLY)],
    indirect=True,
)
def test_kills_lose_nothing_and_double_at_most_one_letter_a_connection(
    installation: Installation, smtp: SmtpServer
) -> None:
    assert installation.script(SETUP).strip() == str(RECIPIENTS)
    chance = random.Random(2026)
    for _ in range(KILLS):
        worker = installation.start_worker("send,reap")
        wait_for_more(smtp, installation)
        time.sleep(chance.uniform(0.1, 1.5))
        assert len(set(smtp.recipients)) < RECIPIENTS, "all kills must fall into the run"
        installation.kill(worker)
    installation.script(EXPIRE)
    installation.start_worker("send,reap")
    wait_for_all(smtp, installation)
    counts = Counter(smtp.recipients)
    doubled = sum(counts.values()) - RECIPIENTS
    assert len(counts) == RECIPIENTS
    assert doubled <= CONNECTIONS * KILLS
    print(f"{KILLS} kills, {RECIPIENTS} recipients: 0 lost, {doubled} doubled")  # noqa: T201


def wait_for_more(smtp: SmtpServer, installation: Installation) -> None:
    """Wait until the worker that was just started has sent something."""
    before, end = len(smtp.recipients), time.monotonic() + 90
    while len(smtp.recipients) <= before:
        assert time.monotonic() < end, installation.log()
        time.sleep(0.05)


def wait_for_all(smtp: SmtpServer, installation: Installation) -> None:
    end = time.monotonic() + SECONDS
    while len(set(smtp.recipients)) < RECIPIENTS or states_of(installation) != {"sent": RECIPIENTS}:
        assert time.monotonic() < end, f"{len(set(smtp.recipients))} of {RECIPIENTS}: {installation.log()}"
        time.sleep(1)


def test_kills_at_random_moments_lose_no_post_and_double_none(installation: Installation) -> None:
    found = json.loads(installation.script(SCRIPT, timeout=600).splitlines()[-1])
    wanted = found["made"] * CHANNELS
    assert found["killed"] == PLACING_KILLS
    assert found["placed"] == found["made"]
    assert found["places"] == found["pairs"] == found["unread"] == wanted
    print(f"{PLACING_KILLS} kills, {found['made']:,} posts in {CHANNELS} channels: none missing, none twice")  # noqa: T201
