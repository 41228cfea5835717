"""Programs that sent feeds by email."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from django.db.models import Max

from common.refused import Refused
from common.secrets import opened
from common.text import pluralize
from feedletter_site.migrate_from.again import FEED, NEWSLETTER, gone_lines
from feedletter_site.migrate_from.feeds import FeedPart, Sender, newsletter_key
from feedletter_site.migrate_from.source import Origins, Plan, Source
from feedletter_site.models import Origin
from feeds.models import Feed
from migrate_from import rss2email
from migrate_from.feedletter import rows as feedletter
from migrate_from.feedletter.rows import BLUESKY, MASTODON
from migrate_from.records import Contents, Line, Options
from subscriptions.models import Subscribable, UpstreamSalt
from subscriptions.subscribers.sign_up import upstream_salts

# Each database has its own, which proves the links of its numbers.
SALT = "feedletter.secret.salt"


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


def place_of(salt: str, *, feeds: Iterable[str], source: str) -> int:
    """Return the place of the database with this salt ("" if unknown) and these keys of feeds.

    Raises Refused if another database was imported, and this one's links could not be told from its.
    """
    places = {known: place for place, known in reversed(upstream_salts())}
    if salt in places:
        return places[salt]
    earlier = Origin.objects.filter(source=source, kind="feed")
    is_only = not earlier.exists() or earlier.filter(old_key__in=list(feeds)).exists()
    last = int(UpstreamSalt.objects.aggregate(last=Max("place", default=0))["last"])
    if salt:
        return 0 if is_only and 0 not in places.values() else last + 1
    if is_only and not last:
        return 0
    raise Refused(
        "Another feedletter database was imported before. Give this one’s feedletter-secrets.properties, so"
        " that the links in old emails of both work."
    )


def keep_salt(salt: str, place: int) -> None:
    """Raises Refused if another import took the place meanwhile."""
    if salt:
        secrets: Any = {"salt": salt}
        UpstreamSalt.objects.get_or_create(place=place, defaults={"secrets": secrets})
        row = UpstreamSalt.objects.get(place=place)
        if opened(row.secrets) != secrets:
            raise Refused("Another import began at the same time. Start this one again.")
