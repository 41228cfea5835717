"""The whole move from feedletter by real processes, with kills: each thing arrives once."""

import json
import random
import re
import shlex
import sqlite3
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from subscriptions.rules.invitations import Suffix, invitation
from tests.load import shifted_clock
from tests.load.installation import Installation, sqlite_installation
from tests.servers.feed_server import FeedServer
from tests.servers.mastodon_instance import TOKEN, MastodonInstance
from tests.servers.services.bluesky import HANDLE, PASSWORD, BlueskyServer
from tests.servers.smtp_server import SmtpServer
from tests.site.migrate_from.feedletter_dump import NOW, SALT, ZONE, Services, dump_of, site

__all__ = ["site"]
pytestmark = pytest.mark.slow
FEEDS = 4
OUTCOME = (
    "SELECT url, added_at, first_polled_at, fetched_through, status FROM feeds_feed ORDER BY 2, 4",
    "SELECT f.added_at, i.guid, i.state FROM feeds_item i JOIN feeds_feed f ON f.id = i.feed_id"
    " ORDER BY 1, 2",
    "SELECT name, channel, counter, issued_through, sending_paused_at IS NULL"
    " FROM subscriptions_subscribable ORDER BY 1",
    "SELECT n.name, s.upstream_id, s.status, s.added_at FROM subscriptions_subscription s"
    " JOIN subscriptions_subscribable n ON n.id = s.subscribable_id ORDER BY 1, 2",
    "SELECT number FROM subscriptions_oldnumber ORDER BY 1",
    "SELECT n.name, i.guid FROM subscriptions_assignment a JOIN feeds_item i ON i.id = a.item_id"
    " JOIN subscriptions_assignable c ON c.id = a.assignable_id"
    " JOIN subscriptions_subscribable n ON n.id = c.subscribable_id ORDER BY 1, 2",
    "SELECT i.within_type_id, d.state, d.held_for, x.core FROM delivery_delivery d"
    " JOIN delivery_issue i ON i.id = d.issue_id JOIN subscriptions_destination x ON x.id = d.destination_id"
    " ORDER BY 1, 4",
    "SELECT kind, old_key FROM feedletter_site_origin ORDER BY 1, 2",
)
SEND = """
from datetime import datetime, timedelta
from delivery.issues.pause import resume_newsletter
from subscriptions.models import Subscribable
from tests.site.migrate_from.test_cordfeeder import rounds
now = datetime.fromisoformat({now!r})
rounds(3, begin=now)
if {starts}:
    for row in Subscribable.objects.all():
        resume_newsletter(subscribable_id=row.pk, now=now)
    rounds(6, begin=now + timedelta(hours=1))
    for day in range(1, 9):
        rounds(2, begin=now + timedelta(days=day))
"""
OPEN = """
import json
from django.test import Client
client, answers = Client(enforce_csrf_checks=True, headers={{"host": "letters.example.org"}}), {{}}
for link in {links!r}:
    shown = client.get(link, secure=True)
    done = client.post(link, secure=True, follow=True)
    answers[link] = [shown.status_code, done.status_code, done.content.decode()]
print("ANSWERS", json.dumps(answers))
"""
TRAPS = (
    "They’re one here, and all their old links work",  # 3 and 7 are one person
    "+15550100 of river",
    "odd one",
    "2026-day362",
    "issue 4, opened on",
    "1 message may have been sent, and will be held",  # tried three times
    "new@example.org: [river] Please confirm",
    "1 of its files are no pictures",
    "[river-bsky] New Post: Post 6",
    "mine.harbour_html",
    "post.script",
)


@dataclass
class Move:
    """The old program, and the servers that get its messages."""

    dump: Path
    secrets: Path
    smtp: SmtpServer
    services: Services

    def command(self, *options: str) -> tuple[str, ...]:
        given = ("--zone", ZONE, "--queued", "keep", "--secrets", str(self.secrets), "--json")
        return ("migrate_from", "feedletter", str(self.dump), *given, *options)


@pytest.fixture
def move(site: FeedServer, tmp_path: Path) -> Iterator[Move]:
    with ExitStack() as stack:
        smtp = stack.enter_context(SmtpServer())
        services = Services(stack.enter_context(MastodonInstance()), stack.enter_context(BlueskyServer()))
        place, secrets = tmp_path / "dump.sql", tmp_path / "secrets.properties"
        place.write_text(dump_of(site).replace("blog.example.org\t0\n", f"{HANDLE}\t0\n"))
        place.write_text(place.read_text().replace('"blog.example.org"', f'"{HANDLE}"'))
        services.in_dump(place)
        secrets.write_text(
            f"feedletter.secret.salt={SALT}\nmail.smtp.host=127.0.0.1\nmail.smtp.port={smtp.port}\n"
            f"feedletter.masto.access.token.mothership={TOKEN}\n"
            f"feedletter.bsky.identifier.{HANDLE}={PASSWORD}\n"
        )
        yield Move(place, secrets, smtp, services)


def installed(stack: ExitStack, folder: Path) -> Installation:
    """Return an installation that lives just after the dump was made."""
    folder.mkdir()
    clock: dict[str, Any] = shifted_clock.install(folder, "all")
    shifted_clock.shift(folder, "all", (NOW - datetime.now(UTC)).total_seconds())
    return stack.enter_context(sqlite_installation(folder, **clock))


def rows(site: Installation) -> list[Any]:
    with closing(sqlite3.connect(site.folder / "feedletter.db")) as connection:
        return [connection.execute(query).fetchall() for query in OUTCOME]


def everything(site: Installation) -> list[str]:
    with closing(sqlite3.connect(site.folder / "feedletter.db")) as connection:
        return [line for line in connection.iterdump() if "sqlite_sequence" not in line]


def wait_for_feeds(site: Installation, count: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until so many feeds are there, or the process has ended."""
    end = time.monotonic() + 60
    while len(rows(site)[0]) < count and process.poll() is None:
        assert time.monotonic() < end
        time.sleep(0.005)


def test_a_move_with_kills_sends_everything_once(move: Move, tmp_path: Path) -> None:
    with ExitStack() as stack:
        whole, killed = (installed(stack, tmp_path / name) for name in ("whole", "killed"))

        # A dry run changes no row.
        before = everything(whole)
        facts = json.loads(whole.manage(*move.command("--dry-run", "--read")))
        assert everything(whole) == before
        new = sorted(line["name"] for line in facts["lines"] if line["what"] == "new")
        assert new == ["B 6", "Harbour 9", "Post 6, still changing", "Post 8", "Post 8"]

        # Twice is once; the report names every trap, and no secret.
        env = tmp_path / "feedletter.env"
        output = whole.manage(*move.command("--env-out", str(env)))
        said = json.dumps(json.loads(output), ensure_ascii=False)
        assert [trap for trap in TRAPS if trap not in said] == []
        assert not [secret for secret in (SALT, TOKEN, PASSWORD) if secret in said]
        once = everything(whole)
        assert json.loads(whole.manage(*move.command()))["counts"]["there already"] == FEEDS
        assert everything(whole) == once

        # Killed at several points, and started again.
        cut_off = 0
        for point in (0, 1, 2, 3, 4):
            process = killed.start("manage.py", *move.command())
            wait_for_feeds(killed, point, process)
            time.sleep(random.uniform(0, 1.5) if point == 0 else 0)
            killed.kill(process)
            cut_off += len(rows(killed)[0]) < FEEDS
        killed.manage(*move.command())
        assert cut_off
        assert rows(killed) == rows(whole)

        # Its own settings, as the environment file has them.
        settings = dict(line.split("=", 1) for line in env.read_text().splitlines())
        killed.environment |= {name: shlex.split(value)[0] for name, value in settings.items()}
        assert killed.environment["EMAIL_URL"] == f"smtp://127.0.0.1:{move.smtp.port}"
        sent_once(killed, move)
        old_links_work(killed)


def sent_once(site: Installation, move: Move) -> None:
    """Nothing goes out before the start, then each post once to each person of each newsletter."""
    mastodon, bluesky = move.services.mastodon, move.services.bluesky
    site.script(SEND.format(now=NOW.isoformat(), starts=False), timeout=300)
    assert not move.smtp.messages
    assert not mastodon.statuses
    assert not bluesky.records
    site.script(SEND.format(now=NOW.isoformat(), starts=True), timeout=600)
    emails = Counter((each.recipient, re.sub(r"\s+", " ", each.subject)) for each in move.smtp.messages)
    assert set(emails.values()) == {1}
    zoe, bob, carla = "zoe@example.org", "bob@example.com", "carla@xn--mnchen-3ya.example"
    each = {who for who, subject in emails if subject == "[river] New Post: Post 8"}
    assert each == {zoe, bob, carla}
    assert {who for who, subject in emails if "still changing" in subject and "[river]" in subject} == each
    # Queued there: bob's was never tried, carla's was.
    assert {who for who, subject in emails if subject == "[river] New Post: Post 5"} == {bob}
    texts = Counter(
        (each.recipient, newsletter, post)
        for each in move.smtp.messages
        if (newsletter := each.subject.partition("]")[0].strip("["))
        for post in ("Post 5", "Harbour 7", "Harbour 8", "Harbour 9", "B 6", "Late in December", "Bare 3")
        if post in str(each.email.get_body(("plain",)).get_content())  # type: ignore[union-attr]
    )
    assert texts == {
        (bob, "river", "Post 5"): 1,
        (zoe, "river-weekly", "Post 5"): 1,
        ("last@example.org", "river-weekly", "Post 5"): 1,
        (bob, "harbour-daily", "Harbour 8"): 1,
        (bob, "harbour-daily", "Harbour 9"): 1,
        ("dan@example.net", "harbour-three", "Harbour 7"): 1,
        ("dan@example.net", "harbour-three", "Harbour 8"): 1,
        ("dan@example.net", "harbour-three", "Harbour 9"): 1,
        ("eve@example.org", "bare", "B 6"): 1,
    }
    # The status about post 6 was tried twice, so it is held.
    assert [re.findall(r"Post \d", each["content"]) for each in mastodon.statuses] == [["Post 8"]]
    posts = sorted(re.findall(r"Post \d", str(each["text"]))[0] for each in bluesky.records.values())
    assert posts == ["Post 6", "Post 8"]


def old_links_work(site: Installation) -> None:
    def link(number: int, suffix: Suffix) -> str:
        path = "confirm" if suffix is Suffix.CONFIRM else "remove"
        proof = invitation(number, salt=SALT, suffix=suffix)
        return f"/v0/subscription/{path}?subscriptionId={number}&invitation={proof}"

    removals = [link(number, Suffix.REMOVE) for number in (7, 8, 9_000_000_001)]
    confirmation = link(14, Suffix.CONFIRM)
    output = site.script(OPEN.format(links=[*removals, confirmation]))
    answers = json.loads(output.partition("ANSWERS ")[2])
    assert {(shown, done) for shown, done, _ in answers.values()} == {(200, 200)}
    assert all("You’re unsubscribed" in answers[each][2] for each in removals)
    assert "You’re subscribed" in answers[confirmation][2]
    states = {number: status for _, number, status, _ in rows(site)[3]}
    assert [states[number] for number in (3, 8, 9_000_000_001)] == ["unsubscribed"] * 3
    assert states[14] == "confirmed"
