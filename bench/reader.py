"""A reader with 1,000,000 posts in 50 channels, in PostgreSQL and SQLite.

Includes this process's CPU time, as machines are seldom idle.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from statistics import median
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.utils import timezone

from bench.million import figure
from bench.web import answered, get, site
from feeds.models import Feed
from reader.microsub.actions import Call, answer
from reader.models import Channel, Entry, Reader, Unread
from reader.people.readers import add_reader
from reader.people.tokens import make_token
from reader.rules.order import Key, PageRequest
from reader.rules.parameters import Parameters
from reader.timelines import marks
from reader.timelines.pages import Timeline, page_of

ENTRIES, CHANNELS, IN_THE_LARGEST, IN_EACH = 200_000, 50, 200_000, 16_327
FEEDS, DEEP, UNREAD = 200, 150_000, 100_000
ROUNDS, REQUESTS = 40, 300
# Goals in milliseconds.
A_PAGE = {"postgresql": 5.0, "sqlite": 15.0}
COUNTS, OVER_HTTP = 60.0, 50.0
MARKED = {"postgresql": 1_000.0, "sqlite": 3_000.0}
SAY = "from bench.reader import measured; import json; print(json.dumps(measured()))"
SERIES = "WITH RECURSIVE series(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM series WHERE n < %s)"
AT = {
    "postgresql": "%s::timestamptz - n * interval '1 second'",
    "sqlite": "strftime('%%Y-%%m-%%d %%H:%%M:%%f', %s, '-' || n || ' seconds')",
}
JF2: dict[str, Any] = {
    "type": "entry",
    "name": "What the storm left",
    "url": "https://tide.example.org/1",
    "published": "2026-11-23T10:00:00+00:00",
    "author": {"type": "card", "name": "Ada", "url": "https://tide.example.org/"},
    "content": {"text": "The tide went out. " * 60, "html": "<p>The tide went out.</p>" * 60},
}


def figures() -> list[dict[str, object]]:
    with tempfile.TemporaryDirectory(prefix="feedletter-bench-") as folder:
        environment = {**os.environ, "DATABASE_URL": f"sqlite:///{folder}/reading.db", "DATA_DIR": folder}
        command = [sys.executable, "-c", f"import django; django.setup(); {SAY}"]
        done = subprocess.run(command, check=True, env=environment, stdout=subprocess.PIPE)
    return [*measured(), *json.loads(done.stdout)]


def measured() -> list[dict[str, object]]:
    call_command("migrate", verbosity=0)
    reader = fill()
    vendor = connection.vendor
    wanted = A_PAGE[vendor]
    home = reader.channels.get(uid="home")
    small = reader.channels.get(uid="c1")
    pages: dict[str, tuple[Timeline, PageRequest, bool]] = {
        "the newest page": (Timeline(reader, home), PageRequest(), False),
        f"{DEEP:,} posts down": (Timeline(reader, home), PageRequest(from_=key(home, DEEP)), False),
        "of all channels": (Timeline(reader), PageRequest(), False),
        f"  {DEEP * 4:,} down": (Timeline(reader), PageRequest(from_=key(reader, DEEP * 4)), False),
        "of one feed": (Timeline(reader, home, feed=home.places.latest("pk").feed_id), PageRequest(), False),
        "unread posts": (Timeline(reader, small), PageRequest(), True),
        "what came since": (Timeline(reader, home), PageRequest(newer_than=key(home, 5)), False),
    }
    results = []
    for name, (timeline, asked, unread_only) in pages.items():

        def ask(
            timeline: Timeline = timeline, asked: PageRequest = asked, unread_only: bool = unread_only
        ) -> object:
            return page_of(timeline, asked, unread_only=unread_only)

        results.append(milliseconds(f"{vendor}: {name}", ask, wanted))
    results.append(milliseconds(f"{vendor}: the list of channels", lambda: channels(reader), COUNTS))
    results += over_http(reader, home)
    make_unread(home, IN_THE_LARGEST)
    name, whole = f"{vendor}: {IN_THE_LARGEST:,} marked read", Timeline(reader, home)
    return [*results, milliseconds(name, lambda: marks.mark_all_read(whole), MARKED[vendor], rounds=1)]


def over_http(reader: Reader, home: Channel) -> list[dict[str, object]]:
    _token, secret = make_token(reader=reader, client="bench over HTTP", now=timezone.now())
    browser = Client()
    browser.force_login(reader.user)
    session = f"{settings.SESSION_COOKIE_NAME}={browser.cookies[settings.SESSION_COOKIE_NAME].value}"
    asked = {
        "an app's page": get(
            f"/microsub/{reader.slug}?action=timeline&channel={home.uid}",
            {"Authorization": f"Bearer {secret}"},
        ),
        "a person's page": get(f"/reader/c/{home.uid}/", {"Cookie": session}),
    }
    results = []
    with site() as port:
        for name, ask in asked.items():
            p95 = answered(port, ask, count=REQUESTS, readers=1).p95_ms
            shown = figure(f"{connection.vendor}: {name} over HTTP, p95", p95, "ms", "wanted", OVER_HTTP)
            results.append(shown | {"ratio": OVER_HTTP / p95})
    return results


def milliseconds(
    name: str, act: Callable[[], object], wanted: float, rounds: int = ROUNDS
) -> dict[str, object]:
    """Return the median time; its name has the CPU time."""
    clock, processor = [], []
    for _ in range(rounds):
        began, used = time.perf_counter(), time.process_time()
        act()
        clock.append((time.perf_counter() - began) * 1000)
        processor.append((time.process_time() - used) * 1000)
    took = median(clock)
    shown = figure(f"{name} ({median(processor):.1f} of processor)", took, "ms", "wanted", wanted)
    return shown | {"ratio": wanted / took}


def channels(reader: Reader) -> None:
    token = reader.tokens.select_related("reader").get()
    call = Call(token, Parameters({"action": ("channels",)}), timezone.now())
    assert sum(one["unread"] for one in answer(call, is_post=False)["channels"]) == UNREAD


def key(owner: Channel | Reader, down: int) -> Key:
    rows = owner.places.filter(hidden=0).order_by("-at", "-pk").values_list("at", "pk")
    return Key(*rows[down])


def fill() -> Reader:
    """The largest channel has every post, each other one some; of each the newest are unread."""
    now = timezone.now()
    reader = add_reader(name="ada", now=now)
    make_token(reader=reader, client="bench", now=now)
    Channel.objects.bulk_create(
        Channel(reader=reader, uid=f"c{n}", name=f"Channel {n}", position=n) for n in range(1, CHANNELS - 1)
    )
    feeds = [Feed(url=f"https://f{n}.example/feed", host=f"f{n}.example", added_at=now) for n in range(FEEDS)]
    first_feed = min(feed.pk for feed in Feed.objects.bulk_create(feeds))
    entry = Entry.objects.create(
        hash="x", jf2=JF2, text=JF2["content"]["text"].casefold(), kind="article", seen_at=now, placed_at=now
    )
    columns = ", ".join(str(field.column) for field in Entry._meta.fields if not field.primary_key)
    with connection.cursor() as cursor:
        again = f"SELECT {columns} FROM reader_entry, series WHERE n > 0"
        insert(cursor, f"reader_entry ({columns})", again, ENTRIES)
        for channel in reader.channels.all():
            count = IN_THE_LARGEST if channel.uid == "home" else IN_EACH
            select = f"SELECT %s, %s, %s + n, %s + n %% {FEEDS}, {AT[connection.vendor]}, 0, %s FROM series"
            into = "reader_timelineentry (channel_id, reader_id, entry_id, feed_id, at, hidden, was_unread)"
            insert(cursor, into, select, count, channel.pk, reader.pk, entry.pk, first_feed, now, False)
            make_unread(channel, UNREAD // CHANNELS)
        cursor.execute("VACUUM ANALYZE" if connection.vendor == "postgresql" else "ANALYZE")
    return reader


def insert(cursor: Any, into: str, select: str, count: int, *values: Any) -> None:
    """Insert rows numbered `n`. SQLite has WITH after INSERT."""
    words = (SERIES, f"INSERT INTO {into}", select)
    order = (0, 1, 2) if connection.vendor == "postgresql" else (1, 0, 2)
    cursor.execute(" ".join(words[place] for place in order), [count - 1, *values])


def make_unread(channel: Channel, count: int) -> None:
    """The newest of the channel."""
    Unread.objects.filter(channel=channel).delete()
    with connection.cursor() as cursor:
        cursor.execute(
            """INSERT INTO reader_unread (place_id, channel_id, reader_id, at)
            SELECT id, channel_id, reader_id, at FROM reader_timelineentry
            WHERE channel_id = %s AND hidden = 0
            ORDER BY at DESC, id DESC LIMIT %s""",
            [channel.pk, count],
        )
