"""rss2email, a command that sends each post to an address."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from email.utils import formataddr, parseaddr
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.text import slugify

from common.admin.refusals import refusal_sentence
from common.child_process import Child
from common.clock import utcnow
from common.net.client import client
from common.refused import Refused
from common.text import one_line, pluralize
from delivery.issues.pause import pause_newsletter
from feedletter_site.migrate_from.report import ImportResult, Line, Origins, TakenMeanwhile
from feedletter_site.migrate_from.rss2email.files import OldFeed, both_files, read_files
from feedletter_site.migrate_from.source import Plan
from feeds.adding.add import new_feed
from feeds.adding.edit import alter_feed
from feeds.adding.known import KnownPost, add_known_feed, mark_known
from feeds.models import Feed
from feeds.polling.claims import asks
from feeds.polling.read import FetchResult, fetch
from subscriptions.lists.importer import import_subscribers
from subscriptions.lists.reading import Terms
from subscriptions.models import Subscribable
from subscriptions.newsletters.define import define_subscribable, unused_name

FEED = "feed"
# Posts older than this at the last run are not sent, even if rss2email did not know them.
LOOKS_BACK = timedelta(days=7)
DIGEST_AT = time(7)
CHILD = "feedletter_site.migrate_from.rss2email.old_keys"
CHILD_SECONDS, MOST_OCTETS = 30.0, 16 * 1024 * 1024
PAUSED = "Imported from rss2email. Check the newsletter, then resume sending."
AGREED = "Imported from rss2email, where this address was the `to` of the feed."
NOTES = (
    "Take rss2email out of your crontab first. Otherwise both programs send.",
    "Each feed becomes a private newsletter for its own addresses. Sending is paused until you resume it.",
    "Mail filters that look for X-RSS-Feed or for a List-ID of `<name.localhost>` need new rules.",
    "Times of posts aren't in rss2email's files. All known posts get the time of its last run.",
)


class Rss2Email:
    key = "rss2email"
    name = "rss2email"
    file_help = "rss2email.json, usually in ~/.local/share."
    second = ".cfg"
    second_help = "rss2email.cfg, usually in ~/.config."
    needs_second = True
    needs_zone = False
    needs_reader = False
    has_unsent = False
    secrets: tuple[str, ...] = ()

    def read(self, place: str, *, now: datetime, **_options: Any) -> Plan:
        """Raises Refused."""
        files = read_files(Path(place))
        data, _ = both_files(Path(place))
        ran_at = min(datetime.fromtimestamp(data.stat().st_mtime, UTC), now)
        notes = [*NOTES]
        if files.protocol == "smtp":
            notes.append(f"It sent through {files.server}: enter that server under Settings, Email set-up.")
        else:
            notes.append(f"It sent by {files.protocol}. Feedletter needs a mail server: see Email set-up.")
        return Plan([FeedPart(each, ran_at) for each in files.feeds], files.refused, notes)

    def prepare(self, *, now: datetime) -> None:
        pass


@dataclass(slots=True)
class FeedPart:
    """A feed, its newsletter and its subscribers. `ran_at`: the end of rss2email's last run."""

    feed: OldFeed
    ran_at: datetime

    @property
    def name(self) -> str:
        return self.feed.name

    def preview(self, origins: Origins) -> Sequence[Line]:
        if origins.find(FEED, self._old_key):
            return [self._there()]
        return self._lines("Its posts")

    def take(self, origins: Origins, *, now: datetime) -> Sequence[Line]:
        """Read the feed once, to recognise its posts, then create everything in one transaction."""
        if origins.find(FEED, self._old_key):
            return [self._there()]
        try:
            answer = _answer(new_feed(url=self.feed.url, now=now))
            with transaction.atomic():
                made = self._take(origins, now, answer)
                lines = [*self._lines(f"{pluralize(made.marked, 'post')} that it had sent"), *made.lines]
        except TakenMeanwhile:
            return [self._there()]
        except (Refused, ValidationError) as error:
            return [Line(ImportResult.REFUSED, "feed", self.name, refusal_sentence(error))]
        return lines

    def feed_ahead(self, origins: Origins, *, now: datetime) -> Feed | None:
        """Nothing is predicted about a feed that was imported or is paused."""
        if origins.find(FEED, self._old_key) or not self.feed.is_active:
            return None
        return new_feed(url=self.feed.url, now=now)

    def take_feed(
        self, origins: Origins, answer: FetchResult, *, now: datetime
    ) -> tuple[Feed, Mapping[int, str]]:
        return self._take(origins, now, answer).feed, {}

    @property
    def _old_key(self) -> str:
        return self.name[:100]

    def _there(self) -> Line:
        return Line(ImportResult.THERE, "feed", self.name, "It was imported before.")

    def _lines(self, posts: str) -> list[Line]:
        old = self.feed
        sent = f"{posts} are marked and won't be sent again." if old.seen else "It has no posts yet."
        paused = "" if old.is_active else " It is paused, as it was."
        pace = f"daily at {DIGEST_AT:%H:%M}" if old.is_digest else "each post"
        lines = [
            Line(ImportResult.TAKEN, "feed", self.name, f"{sent}{paused}"),
            Line(ImportResult.TAKEN, "newsletter", self.name, f"Sent {pace} to {', '.join(old.to)}."),
        ]
        if old.lost:
            words = f"These settings have no equivalent here: {', '.join(old.lost)}."
            lines.append(Line(ImportResult.CHANGED, "settings", self.name, words))
        return lines

    def _take(self, origins: Origins, now: datetime, answer: FetchResult) -> "_Made":
        """In the caller's transaction. Raises ValidationError and TakenMeanwhile."""
        old, parsed = self.feed, answer.parsed
        feed = add_known_feed(
            url=old.url,
            title="",
            # A feed that was never read begins now.
            read_from=self.ran_at - LOOKS_BACK if old.seen else now,
            read_until=self.ran_at if old.seen else None,
            now=now,
        )
        origins.note(FEED, self._old_key, feed.pk, now=now, finished=True)
        present = _posts(answer, old)
        recognised = [one["id"] or one["link"] for one in present if _old_key(one, old) in old.seen]
        guids = dict.fromkeys((*(key for key in old.seen if not old.has_hashes), *recognised))
        posts = [KnownPost(guid, self.ran_at, was_sent=True) for guid in guids if guid]
        marked = mark_known(feed=feed, posts=posts, sender=Rss2Email.name)
        lines = []
        if present:
            # Each post of the feed was compared, so the others are new.
            feed.read_elsewhere_until = None
        is_unsure = old.has_hashes and not recognised
        if is_unsure:
            why = "Its posts were known by their text, which couldn’t be compared. New posts wait for you."
            lines.append(Line(ImportResult.CHANGED, "feed", self.name, why))
        feed.hold_next = is_unsure
        feed.save(update_fields=["read_elsewhere_until", "hold_next"])
        title = (parsed.title if parsed else "") or old.name
        newsletter = define_subscribable(
            name=unused_name(slugify(old.name), "feed"),
            title=one_line(title)[:200],
            feeds=[feed],
            visibility=Subscribable.Visibility.PRIVATE,
            sign_up=Subscribable.SignUp.CLOSED,
            from_email=_sender(title, old.sender),
            **({"arrangement": Subscribable.Arrangement.DAILY, "at": DIGEST_AT} if old.is_digest else {}),
        )
        pause_newsletter(subscribable_id=newsletter.pk, reason=PAUSED, now=now)
        report = import_subscribers(
            subscribable=newsletter,
            lines=["email", *(parseaddr(address)[1] or address for address in old.to)],
            now=now,
            terms=Terms(status="confirmed", words=AGREED),
        )
        lines += [
            Line(ImportResult.REFUSED, "subscriber", ", ".join(row.cells), row.reason)
            for row in report.refused
        ]
        alter_feed(feed=feed, status=Feed.Status.ACTIVE if old.is_active else Feed.Status.PAUSED)
        return _Made(feed, marked, lines)


@dataclass(frozen=True, slots=True)
class _Made:
    feed: Feed
    marked: int
    lines: list[Line]


def _answer(feed: Feed) -> FetchResult:
    (ask,) = asks([feed])
    return fetch(ask, client(), utcnow)


def _posts(answer: FetchResult, old: OldFeed) -> list[dict[str, str]]:
    """Return id, link and hash of the posts in the answer; empty if it has none or cannot be read."""
    if answer.fetched is None or answer.parsed is None or not old.seen:
        return []
    options = {
        "content_type": answer.fetched.headers.get("content-type", ""),
        "url": answer.fetched.url,
        "wants_html": old.wants_html,
    }
    child = Child(CHILD)
    try:
        job = json.dumps(options).encode("utf-8") + b"\0" + answer.fetched.body
        octets = next(child.ask(job, seconds=CHILD_SECONDS, most=MOST_OCTETS), b"[]")
    except OSError:
        return []
    finally:
        child.close()
    posts: list[dict[str, str]] = json.loads(octets)
    return posts


def _old_key(post: Mapping[str, str], old: OldFeed) -> str:
    if old.trusts_link and post["link"]:
        return post["link"]
    if old.trusts_guid and post["id"]:
        return post["id"]
    return post["hash"]


def _sender(title: str, sender: str) -> str:
    address = parseaddr(sender)[1]
    return formataddr((one_line(title), address)) if address else ""
