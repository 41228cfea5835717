"""Chaotic run: workers send through a slow lane while they, database and mail server die."""

import random
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import psycopg

from tests import services
from tests.databases import fill
from tests.load.chaos_cluster import Cluster, running_cluster
from tests.load.chaos_verdict import Chaos, Event, Verdict, judge, timeline
from tests.load.installation import Installation
from tests.load.sink import Sink, running_sink

START_SECONDS = 90
# Leases last a minute, back-offs a few: remaining letters are sent well within this time.
REST_SECONDS = 900
LOOK_EVERY = 0.5

SETUP = """
from django.utils import timezone
from delivery.models import Issue, Lane
from delivery.issues.publish import publish
from subscriptions.models import Destination, Subscribable, Subscription
letter = Subscribable.objects.create(name="chaos", title="Chaos", from_email="Chaos <chaos@example.org>")
made = Destination.objects.bulk_create(
    [Destination(kind="email", core=f"reader{{n}}@mail{{n % 20}}.example", label=f"reader{{n}}")
     for n in range({letters})], batch_size=2000)
Subscription.objects.bulk_create(
    [Subscription(subscribable=letter, destination=row, status="confirmed", display_name="Reader")
     for row in made], batch_size=2000)
issue = Issue.objects.create(subscribable=letter, within_type_id="1", token="t" * 24, title="Chaos",
                             subject="Chaos", html="<p>Hello</p>\\n" * 150, text="Hello\\n" * 150)
Lane.objects.create(kind="email", account="default", concurrency={connections}, rate={rate}, burst=20)
print(publish(issue_id=issue.pk, now=timezone.now()))
"""
BEAT = ("-m", "celery", "--quiet", "-A", "feedletter_site", "beat", "--loglevel", "warning", "--pidfile", "")
WORKER = (
    *("-m", "celery", "--quiet", "-A", "feedletter_site", "worker", "-P", "threads", "-c", "4"),
    *("--without-gossip", "--without-mingle", "-l", "warning", "-Q", "send,reap"),
)


class Run:
    """One run. `say` gets a line for each event."""

    def __init__(
        self, chaos: Chaos, cluster: Cluster, sink: Sink, site: Installation, say: Callable[[str], None]
    ) -> None:
        self.chaos, self.cluster, self.sink, self.site = chaos, cluster, sink, site
        self._say_line = say
        self.chance = random.Random(chaos.seed + 1)
        self.events: list[Event] = []
        self.workers: list[subprocess.Popen[bytes]] = []
        self.beat: subprocess.Popen[bytes] | None = None
        self.died_alone = 0
        self.began = time.monotonic()
        self._down_since = 0.0

    def verdict(self) -> Verdict:
        """Run all. Raises AssertionError if no letter goes out or a worker cannot start."""
        printed = self.site.script(SETUP.format(**self._numbers()), timeout=300)
        assert printed.strip() == str(self.chaos.letters)
        self.beat = self.start_beat()
        self.workers = [self.start_worker() for _ in range(self.chaos.workers)]
        self._wait(lambda: bool(self.sink.copies()), START_SECONDS)
        self.began = time.monotonic()
        for at, what in timeline(self.chaos):
            self._pass_time(self.began + at)
            self._do(what)
        self._wait(self._is_over, self.chaos.seconds + REST_SECONDS)
        self.say("over")
        return judge(
            wanted=[f"reader{n}@mail{n % 20}.example" for n in range(self.chaos.letters)],
            copies=self.sink.copies(),
            events=self.events,
            connections=self.chaos.connections,
            ledger=self.ledger(),
            answers_after=self.chaos.answers_after,
        )

    def start_worker(self) -> "subprocess.Popen[bytes]":
        return self.site.start(*WORKER)

    def start_beat(self) -> "subprocess.Popen[bytes]":
        return self.site.start(*BEAT)

    def _numbers(self) -> dict[str, float]:
        chaos = self.chaos
        return {"letters": chaos.letters, "connections": chaos.connections, "rate": chaos.rate}

    def _do(self, what: str) -> None:
        began = time.time()
        if what == "kill":
            worker = self.chance.choice(self.workers)
            self.site.kill(worker)
            self.workers[self.workers.index(worker)] = self.start_worker()
            self.events.append(Event("kill", began, time.time()))
        elif what == "down":
            self.sink.kill()
            self._down_since = began
        elif what == "up":
            self.sink.start()
            self.events.append(Event("outage", self._down_since, time.time()))
        else:
            self.cluster.restart(what)
            self.events.append(Event("restart", began, time.time()))
        self.say(what)

    def _pass_time(self, until: float) -> None:
        while (left := until - time.monotonic()) > 0:
            self._replace_the_dead()
            time.sleep(min(left, LOOK_EVERY))

    def _wait(self, is_done: Callable[[], bool], seconds: float) -> None:
        """Wait until it is done or timed out; the verdict reports what is missing."""
        end = time.monotonic() + seconds
        while not is_done() and time.monotonic() < end:
            self._replace_the_dead()
            time.sleep(LOOK_EVERY)

    def _is_over(self) -> bool:
        self._hasten()
        return not set(self.ledger()) - {"sent"}

    def _hasten(self) -> None:
        """Shorten the quarter of an hour for which a letter in doubt waits."""
        with (
            suppress(psycopg.OperationalError),
            psycopg.connect(self.cluster.url, connect_timeout=5) as there,
        ):
            there.execute("UPDATE delivery_delivery SET due_at = now() WHERE state = 'deferred'")

    def _replace_the_dead(self) -> None:
        """Restart processes that ended by themselves, as compose does, and report them."""
        for place, worker in enumerate(self.workers):
            if worker.poll() is not None:
                self._tell_of("worker")
                self.workers[place] = self.start_worker()
        if self.beat is not None and self.beat.poll() is not None:
            self._tell_of("beat")
            self.beat = self.start_beat()

    def _tell_of(self, name: str) -> None:
        self.died_alone += 1
        self.say(f"a {name} ended by itself: {self.site.log()}")

    def ledger(self) -> dict[str, int]:
        """Return the number of deliveries by state; {"unknown": 1} without the database."""
        try:
            with psycopg.connect(self.cluster.url, connect_timeout=5) as database:
                rows = database.execute("SELECT state, count(*) FROM delivery_delivery GROUP BY state")
                return {str(state): int(count) for state, count in rows}
        except psycopg.OperationalError:
            return {"unknown": 1}

    def say(self, what: str) -> None:
        letters, seconds = len(self.sink.copies()), time.monotonic() - self.began
        self._say_line(f"{seconds:6.1f} s  {letters:6,} letters  {what}")


@contextmanager
def prepared(chaos: Chaos, say: Callable[[str], None]) -> Iterator[Run]:
    """Run new servers and an empty installation; delete them afterwards. Raises Missing."""
    with ExitStack() as stack:
        cluster = stack.enter_context(running_cluster())
        sink = stack.enter_context(running_sink(answers_after=chaos.answers_after))
        if not services.program("redis-server"):
            raise services.Missing("Redis (Debian: redis-server)")
        broker = stack.enter_context(services.own_redis())
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="feedletter-chaos-")))
        environment = {
            "EMAIL_URL": f"smtp://127.0.0.1:{sink.port}",
            "CELERY_BROKER_URL": broker,
            "BOUNCE_DOMAIN": "bounces.example.org",
            # celery warns about running as root
            "PYTHONWARNINGS": "ignore",
        }
        site = Installation(folder, cluster.url, **environment)
        stack.callback(site.stop_all)
        fill(cluster.url)
        yield Run(chaos, cluster, sink, site, say)
