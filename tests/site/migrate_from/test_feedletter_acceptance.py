"""The whole move from feedletter by real processes, with kills: each thing arrives once.

feedletter's database itself, restored by psql: as its dump says, and only while it is stopped.
"""

import json
import os
import re
import shlex
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.management import CommandError

from feeds.models import Feed
from migrate_from.feedletter.dump import TABLES, read_database, read_dump
from subscriptions.models import Subscribable
from subscriptions.rules.sign_up import Suffix, invitation
from tests.databases import create_database, drop_database, url_of
from tests.load import shifted_clock
from tests.load.installation import Installation, sqlite_installation
from tests.servers.feed_server import FeedServer
from tests.servers.mastodon_instance import TOKEN, MastodonInstance
from tests.servers.services.bluesky import HANDLE, PASSWORD, BlueskyServer
from tests.servers.smtp_server import SmtpServer
from tests.site.migrate_from.acceptance import (
    ORIGINS,
    SEND,
    answers,
    moved,
    moved_with_kills,
    not_said,
    said_in,
)
from tests.site.migrate_from.feedletter_dump import NAMES, NOW, SALT, ZONE, Services, dump, dump_of, run, site
from tests.site.migrate_from.test_cordfeeder import everything

__all__ = ["dump", "site"]
pytestmark = pytest.mark.slow
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
    "SELECT i.within_type_id, d.state, d.held_for, x.core FROM delivery_delivery d JOIN delivery_issue i ON"
    " i.id = d.issue_id JOIN subscriptions_destination x ON x.id = d.destination_id ORDER BY 1, 4",
    ORIGINS,
)
LEAVERS = (7, 8, 9_000_000_001)
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

    @property
    def command(self) -> tuple[str, ...]:
        given = ("--zone", ZONE, "--queued", "keep", "--secrets", str(self.secrets))
        return ("migrate_from", "feedletter", str(self.dump), *given)


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


def test_a_move_with_kills_sends_everything_once(move: Move, tmp_path: Path) -> None:
    with ExitStack() as stack:
        whole, killed = (in_its_time(stack, tmp_path / name) for name in ("whole", "killed"))
        env = tmp_path / "feedletter.env"
        preview, facts = moved(whole, move.command, options=("--env-out", str(env)))
        new = sorted(line["name"] for line in preview["lines"] if line["what"] == "new")
        assert new == ["B 6", "Harbour 9", "Post 6, still changing", "Post 8", "Post 8"]
        assert not_said(facts, TRAPS) == []
        assert not [secret for secret in (SALT, TOKEN, PASSWORD) if secret in said_in(facts)]
        wanted = answers(whole.folder, OUTCOME)
        moved_with_kills(killed, move.command, OUTCOME, wanted, points=(0, 2, 4))

        # Its own settings, as the environment file has them.
        settings = dict(line.split("=", 1) for line in env.read_text().splitlines())
        killed.environment |= {name: shlex.split(value)[0] for name, value in settings.items()}
        assert killed.environment["EMAIL_URL"] == f"smtp://127.0.0.1:{move.smtp.port}"
        links = [*(old_link(number, Suffix.REMOVE) for number in LEAVERS), old_link(14, Suffix.CONFIRM)]
        # One process, as starting Django takes seconds.
        text = SEND.format(now=NOW.isoformat(), days=9) + OPEN.format(links=links)
        pages = json.loads(killed.script(text, timeout=600).partition("ANSWERS ")[2])
        assert_sent_once(move)
        assert_links_work(killed, links, pages)


def in_its_time(stack: ExitStack, folder: Path) -> Installation:
    """Return an installation that lives just after the dump was made."""
    folder.mkdir()
    clock: dict[str, Any] = shifted_clock.install(folder, "all")
    shifted_clock.shift(folder, "all", (NOW - datetime.now(UTC)).total_seconds())
    return stack.enter_context(sqlite_installation(folder, **clock))


def assert_sent_once(move: Move) -> None:
    """Each post went once to each person of each newsletter."""
    mastodon, bluesky = move.services.mastodon, move.services.bluesky
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


def old_link(number: int, suffix: Suffix) -> str:
    path = "confirm" if suffix is Suffix.CONFIRM else "remove"
    proof = invitation(number, salt=SALT, suffix=suffix)
    return f"/v0/subscription/{path}?subscriptionId={number}&invitation={proof}"


def assert_links_work(site: Installation, links: list[str], pages: dict[str, Any]) -> None:
    *removals, confirmation = links
    assert {(shown, done) for shown, done, _ in pages.values()} == {(200, 200)}
    assert all("You’re unsubscribed" in pages[each][2] for each in removals)
    assert "You’re subscribed" in pages[confirmation][2]
    states = {number: status for _, number, status, _ in answers(site.folder, OUTCOME)[3]}
    assert [states[number] for number in (3, 8, 9_000_000_001)] == ["unsubscribed"] * 3
    assert states[14] == "confirmed"


@pytest.fixture
def database(postgres_url: str, dump: Path) -> Iterator[str]:
    name = f"old_feedletter_{os.getpid()}"
    create_database(postgres_url, name, template="template0")
    url = url_of(postgres_url, name)
    # The role is not on this server.
    text = re.sub(r"^ALTER .* OWNER TO .*;\n", "", dump.read_text(), flags=re.MULTILINE)
    try:
        command = ["psql", "--no-psqlrc", "--quiet", "--set", "ON_ERROR_STOP=1", "--dbname", url]
        subprocess.run(command, input=text, text=True, check=True, capture_output=True, timeout=60)
        yield url
    finally:
        drop_database(postgres_url, name)


@pytest.mark.django_db(transaction=True)
def test_the_database_says_what_its_dump_says(database: str, dump: Path) -> None:
    tables, sessions = read_database(database)
    with dump.open(encoding="utf-8", newline="\n") as stream:
        dumped = read_dump(stream)
    assert sessions == 0
    for name, columns in TABLES.items():
        rows = [{column: row[column] for column in columns} for row in dumped[name]]
        assert sorted(tables[name], key=repr) == sorted(rows, key=repr)
    previews = [run(place, "--dry-run", "--queued", "keep") for place in (database, dump)]
    assert previews[0] == previews[1]


@pytest.mark.django_db(transaction=True)
def test_it_is_imported_and_only_read(database: str, dump: Path) -> None:
    before = read_database(database)
    run(database)
    assert sorted(Subscribable.objects.values_list("name", flat=True)) == NAMES
    once = everything()
    assert run(dump)["counts"]["there already"] == 4
    assert everything() == once
    assert read_database(database) == before


@pytest.mark.django_db(transaction=True)
def test_nothing_is_imported_while_another_session_is_open(database: str) -> None:
    with psycopg.connect(database):
        assert run(database, "--dry-run")["counts"]["taken"]
        with pytest.raises(CommandError, match="1 other session"):
            run(database)
        assert not Feed.objects.exists()
    run(database)
    assert Feed.objects.count() == 4
