"""Programs that sent feeds by email."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from common.refused import Refused
from common.text import pluralize
from feedletter_site.migrate_from.again import FEED, NEWSLETTER, gone_lines
from feedletter_site.migrate_from.feeds import FeedPart, Sender, newsletter_key
from feedletter_site.migrate_from.salts import SALT, keep_salt, place_of
from feedletter_site.migrate_from.source import Origins, Plan, Source
from feeds.models import Feed
from migrate_from import rss2email
from migrate_from.feedletter import rows as feedletter
from migrate_from.feedletter.rows import BLUESKY, MASTODON
from migrate_from.records import Contents, Line, Options
from subscriptions.models import Subscribable


def _plan(contents: Contents, sender: Sender) -> Plan:
    parts = [FeedPart(feed, sender) for feed in contents.feeds]

    def gone(origins: Origins) -> Iterator[Line]:
        keys = [newsletter_key(feed, one) for feed in contents.feeds for one in feed.newsletters]
        yield from gone_lines(origins, FEED, [feed.key for feed in contents.feeds], Feed.objects.all())
        if sender.numbers is not None:
            yield from gone_lines(origins, NEWSLETTER, keys, Subscribable.objects.all())

    return Plan(parts, contents.refused, contents.notes, contents.environment, gone=gone)


class Rss2Email(Source):
    key = name = "rss2email"
    file_help = "rss2email.json, usually in ~/.local/share."
    second = ".cfg"
    second_help = "rss2email.cfg, usually in ~/.config."
    needs_second = True

    def read(self, place: str, *, options: Options, now: datetime) -> Plan:
        contents = rss2email.read(Path(place), now=now)
        agreed = "Imported from rss2email, where this address was the `to` of the feed."
        as_of = max((feed.read_until for feed in contents.feeds if feed.read_until), default=now)
        return _plan(contents, Sender(self.name, agreed, as_of))


class Feedletter(Source):
    key = "feedletter"
    name = "feedletter (Scala)"
    file_help = "A plain dump, made with feedletter’s db-dump or pg_dump."
    needs_zone = has_unsent = True
    secrets = (SALT, MASTODON.secret, BLUESKY.secret, "mail.smtp.host")

    def __init__(self) -> None:
        self._sessions = self._place = 0
        self._salt = ""

    def read(self, place: str, *, options: Options, now: datetime) -> Plan:
        contents = feedletter.read(place, options=options, now=now)
        self._sessions, self._salt = contents.sessions, options.secrets.get(SALT, "")
        self._place = place_of(self._salt, feeds=[feed.key for feed in contents.feeds], source=self.key)
        sender = Sender(
            self.key,
            "Imported from feedletter.",
            max((feed.read_until for feed in contents.feeds if feed.read_until), default=now),
            contents.numbers,
            self._place,
            options.keeps_queued,
        )
        return _plan(contents, sender)

    def prepare(self, *, now: datetime) -> None:
        """Raises Refused while feedletter may run."""
        if self._sessions:
            raise Refused(
                f"{pluralize(self._sessions, 'other session uses', 'other sessions use')} its database. Stop"
                " feedletter and close other programs, or both will send."
            )
        keep_salt(self._salt, self._place)
