"""The place stage is killed again and again: no post is missing in a channel or doubled."""

import json

import pytest

from tests.examples import examples
from tests.load.installation import Installation, installation

__all__ = ["installation"]
pytestmark = pytest.mark.slow

KILLS = examples(100)
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
while killed < {KILLS}:
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


def test_kills_at_random_moments_lose_no_post_and_double_none(installation: Installation) -> None:
    found = json.loads(installation.script(SCRIPT, timeout=600).splitlines()[-1])
    wanted = found["made"] * CHANNELS
    assert found["killed"] == KILLS
    assert found["placed"] == found["made"]
    assert found["places"] == found["pairs"] == found["unread"] == wanted
    print(f"{KILLS} kills, {found['made']:,} posts in {CHANNELS} channels: none missing, none twice")  # noqa: T201
