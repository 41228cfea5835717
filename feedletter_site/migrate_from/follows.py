from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from django.core.exceptions import ValidationError
from django.db import transaction

from common.admin.refusals import refusal_sentence
from common.refused import Refused
from common.text import one_line, pluralize, shortened
from feedletter_site.migrate_from.again import read_once
from feedletter_site.migrate_from.jf2 import post_of
from feedletter_site.migrate_from.readers import FEED, REST, Move
from feedletter_site.migrate_from.source import Origins, Part
from feedletter_site.models import Origin
from feeds.adding.add import MAX_FEED_TITLE, add_feed, new_feed
from feeds.addresses import is_address
from feeds.credentials import split_address, without_secrets
from feeds.models import Feed
from feeds.parsing.entry import Entry as Post
from feeds.parsing.posts import SYNTHETIC
from feeds.polling.read import Reading
from migrate_from.microsub.files import digest_of, entries_of
from migrate_from.records import ImportResult, Line, OldChannel, OldEntry, OldFollow
from reader.channels.follows import refuse_more_in, shared_feed_at
from reader.channels.taken_over import OldPost, follow_taken, mark_posts, missing_posts, take_posts
from reader.models import Channel, Follow

WITH_PASSWORD = "Its address contains a user name or password. Follow it again in the reader."  # noqa: S105


@dataclass(slots=True)
class _Facts:
    """Of a feed's posts. `urls`: its addresses; `read`: ids that somebody had read; `unknown`: digests."""

    count: int = 0
    stripped: int = 0
    unread: int = 0
    newest: datetime | None = None
    urls: set[str] = field(default_factory=set)
    read: set[str] = field(default_factory=set)
    unknown: set[str] = field(default_factory=set)


def _facts(move: Move, key: tuple[str, str]) -> _Facts:
    facts, unread = _Facts(), set[str]()
    for entry in entries_of(move.export, key):
        date = min(entry.published or move.came_at(entry), move.now)
        facts.newest = max(facts.newest or date, date)
        facts.urls |= {entry.feed_url} if entry.feed_url else set()
        facts.stripped += entry.is_stripped
        facts.count += not entry.is_stripped
        name = entry.guid or entry.digest
        (facts.read if move.is_read(entry) else unread).add(name)
        if entry.digest and (not entry.guid or entry.guid == str(entry.jf2.get("name")).strip()):
            facts.unknown.add(entry.digest)
    facts.unread = len(unread - facts.read)
    return facts


def _posts(move: Move, key: tuple[str, str], facts: _Facts, guids: Mapping[str, str]) -> Iterator[OldPost]:
    """Yield posts with text; `guids` found by their digests."""
    for entry in entries_of(move.export, key):
        if not entry.is_stripped:
            yield _post(move, entry, facts, guids)


def _post(move: Move, entry: OldEntry, facts: _Facts, guids: Mapping[str, str]) -> OldPost:
    is_read = (entry.guid or entry.digest) in facts.read or move.is_read(entry)
    guid = guids.get(entry.digest) or ("" if entry.digest in facts.unknown else entry.guid)
    return OldPost(post_of(entry.jf2, guid), move.came_at(entry), is_read)


@dataclass
class FollowPart(Part):
    move: Move
    feed: OldFollow

    @property
    def name(self) -> str:
        return self.feed.title or without_secrets(self.feed.url)

    @property
    def _key(self) -> tuple[str, str]:
        return self.feed.channel, self.feed.key

    @property
    def _old_key(self) -> str:
        return self.move.key(self.feed.key)

    @cached_property
    def facts(self) -> _Facts:
        return _facts(self.move, self._key)

    def preview(self, origins: Origins, *, now: datetime) -> Sequence[Line]:
        if origin := self._taken(origins):
            follow = self._follow(origins, origin)
            missing = self._missing(follow, origin, {}) if follow else ()
            return [self._there(follow, sum(1 for _post in missing))]
        try:
            self._check()
        except (Refused, ValidationError) as error:
            return [Line(ImportResult.REFUSED, "feed", self.name, refusal_sentence(error))]
        return list(self._lines(self.facts.count))

    def take(self, origins: Origins, *, now: datetime) -> Sequence[Line]:
        """Add the feed paused, then its posts, then follow and start it. A run that was cut off goes on.

        A later run adds the posts that are missing.
        """
        origin = self._taken(origins)
        follow = self._follow(origins, origin) if origin else None
        if origin and not follow:
            return [self._there(None, 0)]
        channel = follow.channel if follow else self.move.channel(origins, self.feed.channel)
        if channel is None:
            why = "Its channel wasn’t imported, or was deleted here."
            return [Line(ImportResult.REFUSED, "feed", self.name, why)]
        try:
            self._check()
            guids, trouble = self._look(now)
            feed = follow.feed if follow else self._feed(origins, channel, now)
            stripped = (entry for entry in entries_of(self.move.export, self._key) if entry.is_stripped)
            old = (_post(self.move, entry, self.facts, guids) for entry in stripped)
            mark_posts(feed=feed, posts=[post for post in old if post.post.guid])
            posts = _posts(self.move, self._key, self.facts, guids)
            if origin and follow:
                posts = self._missing(follow, origin, guids)
            taken = take_posts(reader=self.move.reader, channel=channel, feed=feed, posts=posts, now=now)
            if not follow:
                follow_taken(channel=channel, feed=feed, name=self.feed.title, read_until=self.facts.newest)
                origins.finish(FEED, self._old_key, now=now)
        except (Refused, ValidationError) as error:
            return [Line(ImportResult.REFUSED, "feed", self.name, refusal_sentence(error))]
        return [*([self._there(follow, taken)] if follow else self._lines(taken)), *trouble]

    def feed_ahead(self, origins: Origins, *, now: datetime) -> Feed | None:
        """Refused feeds were listed before."""
        if self._taken(origins):
            return None
        try:
            self._check()
        except (Refused, ValidationError):
            return None
        return new_feed(url=self.feed.url, now=now)

    def take_feed(
        self, origins: Origins, answer: Reading, *, now: datetime
    ) -> tuple[Feed, Mapping[int, str]]:
        """Name posts that would be unread: those newer than the newest that it knew."""
        feed = add_feed(url=self.feed.url, now=now, for_letters=False)
        known = set(self._guids_in(answer).values())
        known |= {entry.guid for entry in entries_of(self.move.export, self._key)}
        new: dict[int, str] = {}
        for number, post in enumerate(answer.parsed.entries if answer.parsed else (), 1):
            names = {post.guid, post.link} if post.link else {post.guid}
            date, newest = post.published or post.updated, self.facts.newest
            if not names & known and (newest is None or date is None or date > newest):
                new[-number] = post.title or post.link or post.guid
        return feed, new

    def _check(self) -> None:
        """Raises Refused and ValidationError."""
        if split_address(self.feed.url.strip())[1]:
            raise Refused(WITH_PASSWORD, "url")
        new_feed(url=self.feed.url, now=self.move.now)

    def _taken(self, origins: Origins) -> Origin | None:
        origin = origins.find(FEED, self._old_key)
        return origin if origin is not None and origin.finished_at is not None else None

    def _missing(self, follow: Follow, origin: Origin, guids: Mapping[str, str]) -> Iterator[OldPost]:
        posts, since = _posts(self.move, self._key, self.facts, guids), origin.finished_at or self.move.now
        return missing_posts(channel=follow.channel, feed=follow.feed, posts=posts, since=since)

    def _follow(self, origins: Origins, origin: Origin) -> Follow | None:
        """Return that of its channel, or of the one to which the reader moved it."""
        rows = Follow.objects.filter(feed=origin.row, channel__reader=self.move.reader)
        channel = self.move.channel(origins, self.feed.channel)
        return min(
            rows.select_related("channel", "feed"), key=lambda row: row.channel != channel, default=None
        )

    def _there(self, follow: Follow | None, taken: int) -> Line:
        if taken and follow is not None:
            words = f"{pluralize(taken, 'more post')} in “{follow.channel}”."
            return Line(ImportResult.TAKEN, "posts", self.name, words)
        gone = "" if follow else " It isn’t followed here any more."
        return Line(ImportResult.THERE, "feed", self.name, f"It was imported before.{gone}")

    def _lines(self, taken: int) -> Iterator[Line]:
        facts = self.facts
        where = self.move.channels[self.feed.channel].name
        words = f"In “{where}”, with {pluralize(taken, 'post')}; {facts.unread:,} unread."
        yield Line(ImportResult.TAKEN, "feed", self.name, words)
        if facts.stripped:
            words = f"{pluralize(facts.stripped, 'post')} had no text left. They stay read, and aren’t shown."
            yield Line(ImportResult.CHANGED, "posts", self.name, words)
        if self.feed.trouble:
            words = f"It failed there ({self.feed.trouble}), and is read again here."
            yield Line(ImportResult.CHANGED, "feed", self.name, words)

    @transaction.atomic
    def _feed(self, origins: Origins, channel: Channel, now: datetime) -> Feed:
        """Return an earlier run's row, or a shared or new one. Raises Refused and ValidationError."""
        origin = origins.find(FEED, self._old_key)
        there = Feed.objects.filter(pk=origin.row).first() if origin else None
        if there is not None:
            return there
        feed = shared_feed_at(self.feed.url) or self._new_feed(channel, now)
        if origin is None:
            origins.note(FEED, self._old_key, feed.pk, now=now)
        else:
            origins.renew(origin, feed.pk)
        return feed

    def _new_feed(self, channel: Channel, now: datetime) -> Feed:
        """Add it paused until it is followed. Unknown posts from before the newest known one will be read."""
        refuse_more_in(channel)
        old, title = self.feed, shortened(one_line(without_secrets(self.feed.title)), MAX_FEED_TITLE)
        feed = add_feed(url=old.url, now=now, for_letters=False, pace=Feed.Pace.ADAPTIVE, title=title)
        feed.status = Feed.Status.PAUSED
        feed.site_url = old.site_url if is_address(old.site_url) else ""
        feed.first_polled_at = feed.read_elsewhere_until = self.facts.newest
        feed.save(update_fields=["status", "site_url", "first_polled_at", "read_elsewhere_until"])
        return feed

    def _look(self, now: datetime) -> tuple[Mapping[str, str], list[Line]]:
        """Read the feed once if posts are known by digests alone (network). Return ids by digests."""
        if not self.facts.unknown:
            return {}, []
        answer = read_once(self.feed.url, now=now)
        if answer.parsed is not None:
            return self._guids_in(answer), []
        words = "It couldn’t be read to recognise posts that are known by digests alone. They may come again."
        return {}, [Line(ImportResult.CHANGED, "posts", self.name, words)]

    def _guids_in(self, answer: Reading) -> Mapping[str, str]:
        urls = {self.feed.url, *self.facts.urls}
        entries = answer.parsed.entries if answer.parsed and self.facts.unknown else ()
        return {
            digest: post.guid
            for post in reversed(entries)
            for digest in _digests_of(post, urls)
            if digest in self.facts.unknown
        }


def _digests_of(post: Post, urls: Collection[str]) -> Iterator[str]:
    """Return what its digest may be there."""
    names = ("" if post.guid.startswith(SYNTHETIC) else post.guid, post.link, post.title)
    return (digest_of(url, name) for url in urls for name in names if name)


@dataclass
class UnfollowedPart(Part):
    """Posts of a feed that is no longer followed."""

    move: Move
    channel: OldChannel
    feed_key: str

    @property
    def name(self) -> str:
        return self.channel.name

    @cached_property
    def facts(self) -> _Facts:
        return _facts(self.move, (self.channel.key, self.feed_key))

    @property
    def _old_key(self) -> str:
        return self.move.key(f"{self.channel.key}/{self.feed_key}")

    def preview(self, origins: Origins, *, now: datetime) -> Sequence[Line]:
        origin, channel = self._origin(origins), self.move.channel(origins, self.channel.key)
        if origin is None or channel is None:
            return [self._line(self.facts.count)]
        return [self._line(sum(1 for _post in self._missing(channel, origin)), is_again=True)]

    def take(self, origins: Origins, *, now: datetime) -> Sequence[Line]:
        origin, channel = self._origin(origins), self.move.channel(origins, self.channel.key)
        if channel is None:
            return [Line(ImportResult.REFUSED, "posts", self.name, "Their channel wasn’t imported.")]
        posts = self._missing(channel, origin) if origin else self._posts()
        feed = _feed_of(origin)
        try:
            taken = take_posts(reader=self.move.reader, channel=channel, feed=feed, posts=posts, now=now)
            if origin is None:
                origins.note(REST, self._old_key, channel.pk, now=now, finished=True)
        except Refused as error:
            return [Line(ImportResult.REFUSED, "posts", self.name, str(error))]
        return [self._line(taken, is_again=origin is not None)]

    def _origin(self, origins: Origins) -> Origin | None:
        """Return that of an earlier run, which may have taken the feed, too."""
        return origins.find(REST, self._old_key) or origins.find(FEED, self.move.key(self.feed_key))

    def _posts(self) -> Iterator[OldPost]:
        return _posts(self.move, (self.channel.key, self.feed_key), self.facts, {})

    def _missing(self, channel: Channel, origin: Origin) -> Iterator[OldPost]:
        since = origin.finished_at or self.move.now
        return missing_posts(channel=channel, feed=_feed_of(origin), posts=self._posts(), since=since)

    def _line(self, count: int, *, is_again: bool = False) -> Line:
        if is_again and not count:
            return Line(ImportResult.THERE, "posts", self.name, "They were imported before.")
        words = f"{pluralize(count, 'post')} of a feed that isn’t followed any more."
        return Line(ImportResult.TAKEN, "posts", self.name, words)


def _feed_of(origin: Origin | None) -> Feed | None:
    return Feed.objects.filter(pk=origin.row).first() if origin and origin.kind == FEED else None
