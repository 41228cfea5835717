"""rss2email, a command that sends each post to an address."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from email.utils import formataddr, parseaddr
from functools import partial
from pathlib import Path
from typing import Any

from django.db.models import Exists, OuterRef, Q
from django.utils.text import slugify

from common.child_process import Child
from common.clock import utcnow
from common.net.client import client
from common.ports import channels
from common.ports.channels import InvalidDestination
from common.text import one_line, pluralize
from delivery.issues.pause import pause_newsletter
from feedletter_site.migrate_from.again import FEED, NEWSLETTER, WholeFeed, end_gone, gone_lines, mark_sent
from feedletter_site.migrate_from.rss2email.files import OldFeed, both_files, read_files
from feedletter_site.migrate_from.source import ImportResult, Line, Origins, Plan
from feeds.adding.add import alter_feed, new_feed
from feeds.adding.known import KnownPost, add_known_feed, mark_known, sent_ids
from feeds.models import Feed
from feeds.polling.claims import asks
from feeds.polling.read import FetchResult, fetch
from subscriptions.lists.importer import import_subscribers
from subscriptions.lists.reading import Terms
from subscriptions.models import Consent, Subscribable
from subscriptions.newsletters.define import define_subscribable, unused_name

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
        parts = [FeedPart(each, ran_at) for each in files.feeds]
        keys = [part.old_key for part in parts]
        gone = partial(gone_lines, kind=FEED, keys=keys, rows=Feed.objects.all())
        return Plan(parts, files.refused, notes, gone=gone)

    def prepare(self, *, now: datetime) -> None:
        pass


@dataclass
class FeedPart(WholeFeed):
    """A feed, its newsletter and its subscribers. `ran_at`: the end of rss2email's last run."""

    feed: OldFeed
    ran_at: datetime
    # Of the answer, which takes a second to interpret.
    _posts: list[dict[str, str]] | None = None

    @property
    def name(self) -> str:
        return self.feed.name

    def ask(self, now: datetime) -> FetchResult:
        """Read the feed once, to recognise its posts."""
        (ask,) = asks([new_feed(url=self.feed.url, now=now)])
        return fetch(ask, client(), utcnow)

    def feed_ahead(self, origins: Origins, *, now: datetime) -> Feed | None:
        """Nothing is predicted about a paused feed."""
        return super().feed_ahead(origins, now=now) if self.feed.is_active else None

    @property
    def old_key(self) -> str:
        return self.name[:100]

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

    def add(self, origins: Origins, now: datetime, answers: Any) -> tuple[Feed, list[Line]]:
        old = self.feed
        feed = add_known_feed(
            url=old.url,
            title="",
            # A feed that was never read begins now.
            read_from=self.ran_at - LOOKS_BACK if old.seen else now,
            read_until=self.ran_at if old.seen else None,
            now=now,
        )
        origins.note(FEED, self.old_key, feed.pk, now=now, finished=True)
        posts, lines = self._mark(feed, answers)
        title = (answers.parsed.title if answers and answers.parsed else "") or old.name
        newsletter = define_subscribable(
            name=unused_name(slugify(old.name), "feed"),
            title=one_line(title)[:200],
            feeds=[feed],
            visibility=Subscribable.Visibility.PRIVATE,
            sign_up=Subscribable.SignUp.CLOSED,
            from_email=_sender(title, old.sender),
            **({"arrangement": Subscribable.Arrangement.DAILY, "at": DIGEST_AT} if old.is_digest else {}),
        )
        origins.note(NEWSLETTER, self.old_key, newsletter.pk, now=self.ran_at, finished=True)
        pause_newsletter(subscribable_id=newsletter.pk, reason=PAUSED, now=now)
        _added, refused = self._add_people(newsletter, old.to, now)
        alter_feed(feed=feed, status=Feed.Status.ACTIVE if old.is_active else Feed.Status.PAUSED)
        marked = f"{pluralize(posts, 'post')} that it had sent" if answers else "Its posts"
        return feed, [*self._lines(marked), *lines, *refused]

    def add_more(self, feed: Feed, origins: Origins, now: datetime, answers: Any) -> list[Line]:
        """Mark what it sent in between, add new addresses, and end the others."""
        more, lines = self._mark(feed, answers)
        if more:
            words = f"{pluralize(more, 'more post')} that it had sent are marked."
            lines.append(Line(ImportResult.TAKEN, "feed", self.name, words))
        first = feed.subscribables.order_by("pk").first()
        if first and not origins.find(NEWSLETTER, self.old_key):
            # Release 0.1.0 noted none.
            origins.note(NEWSLETTER, self.old_key, first.pk, now=self.ran_at, finished=True)
        origin = origins.find(NEWSLETTER, self.old_key)
        newsletter = Subscribable.objects.filter(pk=origin.row).first() if origin else None
        if origin is None or newsletter is None:
            return lines
        sent = {newsletter.pk: sent_ids(self._known(answers))}
        lines += mark_sent(feed, sent, sender=Rss2Email.name, now=now)
        there = set(newsletter.subscriptions.values_list("destination__core", flat=True))
        coming = [address for address in self.feed.to if _core(address) not in there]
        added, refused = self._add_people(newsletter, coming, now)
        if added:
            words = f"{pluralize(added, 'more subscriber')}."
            lines.append(Line(ImportResult.TAKEN, "newsletter", self.name, words))
        imported = Consent.objects.filter(act=Consent.Act.IMPORTED, words=AGREED)
        ours = newsletter.subscriptions.filter(Exists(imported.filter(subscription=OuterRef("pk"))))
        stayed = Q(destination__core__in=[_core(address) for address in self.feed.to])
        known, is_newer = ours.filter(stayed).count(), origins.is_newer(origin, self.ran_at)
        as_of = now if is_newer else self.ran_at
        gone = end_gone(ours.exclude(stayed), known=known, sender=Rss2Email.name, as_of=as_of, now=now)
        return [*lines, *refused, *gone]

    def _known(self, answer: FetchResult | None) -> list[KnownPost]:
        """Return the posts that it sent. Keys that are hashes are looked up in the answer."""
        old = self.feed
        keys = () if old.has_hashes else old.seen
        guids = dict.fromkeys((*keys, *self._recognised(answer)))
        return [KnownPost(guid, self.ran_at, was_sent=True) for guid in guids if guid]

    def _recognised(self, answer: FetchResult | None) -> list[str]:
        return [
            one["id"] or one["link"]
            for one in self._present(answer)
            if _old_key(one, self.feed) in self.feed.seen
        ]

    def _present(self, answer: FetchResult | None) -> list[dict[str, str]]:
        if self._posts is None and answer is not None:
            self._posts = _posts(answer, self.feed)
        return self._posts or []

    def _mark(self, feed: Feed, answer: FetchResult | None) -> tuple[int, list[Line]]:
        """Return how many posts are marked anew."""
        marked = mark_known(feed=feed, posts=self._known(answer), sender=Rss2Email.name)
        if self._present(answer):
            # Each post of the feed was compared, so the others are new.
            feed.read_elsewhere_until = None
        lines = []
        if answer and self.feed.has_hashes and not self._recognised(answer):
            why = "Its posts were known by their text, which couldn’t be compared. New posts wait for you."
            lines.append(Line(ImportResult.CHANGED, "feed", self.name, why))
            feed.hold_next = True
        feed.save(update_fields=["read_elsewhere_until", "hold_next"])
        return marked, lines

    def _add_people(
        self, newsletter: Subscribable, addresses: Sequence[str], now: datetime
    ) -> tuple[int, list[Line]]:
        report = import_subscribers(
            subscribable=newsletter,
            lines=["email", *(parseaddr(address)[1] or address for address in addresses)],
            now=now,
            terms=Terms(status="confirmed", words=AGREED),
        )
        return report.added, [
            Line(ImportResult.REFUSED, "subscriber", ", ".join(row.cells), row.reason)
            for row in report.refused
        ]


def _core(address: str) -> str:
    try:
        return channels.get("email").parse_destination({"email": parseaddr(address)[1] or address}).core
    except InvalidDestination:
        return ""


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
