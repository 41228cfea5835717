"""Search in 1,000,000 posts, and the index's cost for writing, in PostgreSQL and SQLite."""

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import datetime
from itertools import accumulate
from statistics import median
from typing import Any

from django.core.management import call_command
from django.db import connection, transaction
from django.utils import timezone

from bench.million import figure
from bench.reader import milliseconds
from feeds.models import Feed
from feeds.parsing.entry import Entry as Post
from feeds.parsing.entry import Person
from reader.channels.find import search_posts
from reader.entries.place import place_due
from reader.entries.search_index import ensure_index
from reader.entries.take import said_by
from reader.models import Entry, Follow, Reader, TimelineEntry
from reader.people.readers import add_reader
from reader.timelines.pages import Timeline

POSTS, TOGETHER, TEXTS = 1_000_000, 5_000, 20_000
WORDS = [f"w{number}x" for number in range(50_000)]
# Zipf's law.
WEIGHTS = list(accumulate(1 / (number + 5) for number in range(len(WORDS))))
WANTED, ROUNDS = 50.0, 7
WRITTEN, WRITING_ROUNDS = 200, 6
SAY = "from bench.search import measured; import json; print(json.dumps(measured()))"


def figures() -> list[dict[str, object]]:
    with tempfile.TemporaryDirectory(prefix="feedletter-bench-") as folder:
        environment = {**os.environ, "DATABASE_URL": f"sqlite:///{folder}/search.db", "DATA_DIR": folder}
        command = [sys.executable, "-c", f"import django; django.setup(); {SAY}"]
        done = subprocess.run(command, check=True, env=environment, stdout=subprocess.PIPE)
    return [*measured(), *json.loads(done.stdout)]


def measured() -> list[dict[str, object]]:
    call_command("migrate", verbosity=0)
    reader = add_reader(name="ada", now=timezone.now())
    results = [writing(reader)]
    fill(reader, random.Random(5))
    post = Entry.objects.order_by("pk")[POSTS // 3].text.split()
    searches = {
        "a word nobody wrote": "unwritten",
        "a phrase nobody wrote": '"unwritten words"',
        "a phrase of rare words, in no post": '"w900x w901x"',
        "a phrase of a post": f'"{" ".join(post[8:11])}"',
        "a word of every post": WORDS[0],
        "a rare word": WORDS[-1],
        "a phrase of frequent words": '"w20x w21x"',
        "a rare word, not with a frequent one": f"{WORDS[30_000]} -{WORDS[0]}",
    }
    for name, query in searches.items():

        def search(query: str = query) -> object:
            return search_posts(Timeline(reader), query, limit=20)

        results.append(milliseconds(f"{connection.vendor}: {name}", search, WANTED, ROUNDS))
    return results


def texts(rng: random.Random) -> Iterator[list[str]]:
    """Combine halves, so that each post has another text."""
    known = [rng.choices(WORDS, cum_weights=WEIGHTS, k=rng.randint(30, 150)) for _ in range(TEXTS)]
    for _ in range(POSTS // TOGETHER):
        pairs = ((rng.choice(known), rng.choice(known)) for _ in range(TOGETHER))
        yield [f" {' '.join((*one[: len(one) // 2], *other[len(other) // 2 :]))} " for one, other in pairs]


def fill(reader: Reader, rng: random.Random) -> None:
    now, home = timezone.now(), reader.channels.get(uid="home")
    jf2 = {"type": "entry", "name": "A post"}
    facts: dict[str, Any] = {"hash": "x", "jf2": jf2, "kind": "article", "seen_at": now, "placed_at": now}
    for some in texts(rng):
        with transaction.atomic():
            rows = Entry.objects.bulk_create(Entry(text=text, **facts) for text in some)
            TimelineEntry.objects.bulk_create(
                TimelineEntry(
                    channel=home, reader=reader, entry=row, at=datetime.fromtimestamp(row.pk, now.tzinfo)
                )
                for row in rows
            )
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE" if connection.vendor == "postgresql" else "ANALYZE")


def writing(reader: Reader) -> dict[str, object]:
    """Measure posts a second, alternately with and without the index."""
    now, rng = timezone.now(), random.Random(7)
    feed = Feed.objects.create(url="https://tide.example/feed", host="tide.example", added_at=now)
    Follow.objects.create(channel=reader.channels.get(uid="home"), feed=feed, added_at=now)
    rates: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(WRITING_ROUNDS):
        for is_indexed in (True, False):
            if is_indexed:
                ensure_index(using="default")
            else:
                drop_index()
            posts = [a_post(rng) for _ in range(WRITTEN)]
            began = time.perf_counter()
            write(feed, posts, is_indexed=is_indexed)
            rates[is_indexed].append(WRITTEN / (time.perf_counter() - began))
    ensure_index(using="default")
    name = f"{connection.vendor}: posts taken and placed"
    return figure(name, median(rates[True]), "posts/s", "without the index", median(rates[False]))


def a_post(rng: random.Random) -> Post:
    paragraphs = (rng.choices(WORDS, cum_weights=WEIGHTS, k=60) for _ in range(5))
    html = "".join(f"<p>{' '.join(words)}</p>" for words in paragraphs)
    return Post(guid=str(rng.random()), title=" ".join(rng.choices(WORDS, k=6)), content=html)


def write(feed: Feed, posts: list[Post], *, is_indexed: bool) -> None:
    now = timezone.now()
    rows = []
    for post in posts:
        facts: dict[str, Any] = said_by(post, Person("Tide", feed.url), now)
        if not is_indexed:
            # As before the index.
            facts["text"] = facts["jf2"]["content"]["text"].casefold()
        rows.append(Entry(feed=feed, hash="x", seen_at=now, due_at=now, **facts))
    with transaction.atomic():
        Entry.objects.bulk_create(rows, batch_size=100)
    place_due()


def drop_index() -> None:
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("DROP INDEX IF EXISTS entry_words")
            return
        for trigger in ("insert", "delete", "update"):
            cursor.execute(f"DROP TRIGGER IF EXISTS reader_entry_words_{trigger}")
