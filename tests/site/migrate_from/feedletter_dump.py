"""The dump of feedletter's fixture, with its feeds and services on loopback."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from email import message_from_bytes
from email.policy import default
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from delivery.issues.pause import resume_newsletter
from delivery.models import Delivery, MailboxMessage
from feedletter_site.management.commands import migrate_from
from subscriptions.models import Subscribable
from tests.servers.feed_server import FeedServer
from tests.servers.mastodon_instance import MastodonInstance
from tests.servers.services.bluesky import BlueskyServer

FILES = Path(__file__).parents[2] / "fixtures" / "migrations" / "feedletter"
ZONE = "America/New_York"
# Just after the dump was made, which is the evening before in New York.
NOW = datetime(2026, 11, 22, 0, 30, tzinfo=UTC)
SALT = "fixture salt: äöü=1"
OLD_FEEDS = {
    "river.xml": "https://blog.example.org/river.xml",
    "harbour.atom": "https://harbour.example.net/atom",
    "bare.xml": "https://bare.example.net/rss?format=xml&lang=de",
}
OLD_INSTANCE, OLD_ENTRYWAY = "https://mastodon.example/", "https://bsky.social/"
NEWSLETTERS = ["bare", "bare-fixed", "harbour-daily", "harbour-three", "never-sent", "river", "river-weekly"]
NAMES = sorted([*NEWSLETTERS, "river-bsky", "river-masto"])


@pytest.fixture
def site(loopback_allowed: None) -> Iterator[FeedServer]:
    with FeedServer() as server:
        for name in OLD_FEEDS:
            body = (FILES / "feeds" / name).read_text()
            server.serve(f"/{name}", body, headers={"Content-Type": "application/xml"})
        yield server


@pytest.fixture
def dump(site: FeedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(migrate_from, "utcnow", lambda: NOW)
    place = tmp_path / "dump.sql"
    place.write_text(dump_of(site))
    return place


def dump_of(site: FeedServer) -> str:
    text = (FILES / "dump.sql").read_text()
    for name, url in OLD_FEEDS.items():
        text = text.replace(f"\t{url}\t", f"\t{site.url('/' + name)}\t")
    return text


@dataclass
class Services:
    mastodon: MastodonInstance
    bluesky: BlueskyServer

    def in_dump(self, place: Path) -> None:
        text = place.read_text()
        for old, new in ((OLD_INSTANCE, self.mastodon.url), (OLD_ENTRYWAY, self.bluesky.url)):
            text = text.replace(f'"{old}"', f'"{new}"').replace(f"\t{old}\t", f"\t{new}\t")
        place.write_text(text)


@pytest.fixture
def services(dump: Path) -> Iterator[Services]:
    with ExitStack() as stack:
        made = Services(stack.enter_context(MastodonInstance()), stack.enter_context(BlueskyServer()))
        made.in_dump(dump)
        yield made


def run(place: Path | str, *options: str) -> dict[str, Any]:
    out = StringIO()
    call_command("migrate_from", "feedletter", str(place), "--zone", ZONE, "--json", *options, stdout=out)
    facts: dict[str, Any] = json.loads(out.getvalue())
    return facts


def start(*names: str) -> None:
    for each in Subscribable.objects.filter(name__in=names):
        resume_newsletter(subscribable_id=each.pk, now=NOW)


def start_all() -> None:
    start(*NEWSLETTERS)


def sent() -> list[tuple[str, str, str]]:
    """Return newsletter, subject and address of each email and post that was sent."""
    rows = Delivery.objects.exclude(issue=None).filter(state__in=("sent", "stored"))
    return sorted(
        rows.values_list("issue__subscribable__name", "issue__title", "subscription__destination__core")
    )


def texts_of(newsletter: str, kind: str = "plain") -> str:
    """Return all emails of the newsletter, decoded."""
    rows = MailboxMessage.objects.filter(delivery__issue__subscribable__name=newsletter)
    messages = (message_from_bytes(bytes(row.raw), policy=default) for row in rows)
    return "\n".join(str(part.get_content()) for each in messages if (part := each.get_body((kind,))))
