"""Import of OPML and saved posts, and export of OPML.

Imports are stored, then followed line by line without network. Folders and categories become channels.
Not a common.uploads.Upload: its lines are kept, not the file, and the page follows the first ones itself.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from io import BytesIO
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Count, Q, QuerySet
from django.utils import translation
from django.utils.translation import gettext, gettext_noop

from common.archives import Budget, is_zip, open_zip, read_member
from common.body_limits import MEGABYTE
from common.clock import utcnow
from common.db.leases import RELEASED, lease, unleased
from common.passes import TimeBudget
from common.refused import Refused, TranslatedRefusal
from common.text import one_line, without_controls
from feeds.addresses import MAX_FEED_URL, NO_ADDRESS, is_address, listed_address
from feeds.credentials import split_address, without_secrets
from feeds.parsing.opml import (
    FILE_TOO_LARGE,
    MAX_BYTES,
    MAX_FEEDS,
    TOO_MANY_FEEDS,
    Listed,
    Opml,
    OpmlError,
    parse_opml,
    write_opml,
)
from reader.channels.channels import LONGEST_CHANNEL_NAME, channel_named, default_channel
from reader.channels.follows import follow_unseen
from reader.channels.taken_over import import_saved_post
from reader.models import Channel, Follow, FollowLine, FollowList, Reader
from reader.models.channel import LONGEST_FOLLOW_NAME
from reader.rules.saved_posts import MAX_POSTS, TOO_MANY_POSTS, EmptyPosts, SavedPost, is_json, parse_saved

log = logging.getLogger(__name__)

OPML_LEASE = timedelta(seconds=60)
# Spreads first polls, so that feeds of letters are polled in between.
READ_EVERY = timedelta(seconds=0.2)
NOT_OPEN = gettext_noop(
    "The address contains a user name or password. Add this feed under “Follow something”."
)
PAUSED = gettext_noop("It is paused there. Follow it if you want to read it.")
NOTHING_IN_ZIP = "There is no OPML file and no JSON file of posts in this zip file."
# Of a zip file.
MAX_UNPACKED = 50 * MEGABYTE
OUR_FAULT = gettext_noop("An error occurred on our side. Import the list again later.")
STOPPED = gettext_noop("The rest of the list was skipped because you stopped the import.")
Outcome = FollowLine.Outcome


@dataclass(frozen=True, slots=True)
class ListReport:
    """`posts` were starred, added or marked as read; `known_posts` were that already."""

    followed: int = 0
    known: int = 0
    posts: int = 0
    known_posts: int = 0
    refused: int = 0
    waiting: int = 0

    @property
    def total(self) -> int:
        return self.followed + self.known + self.posts + self.known_posts + self.refused + self.waiting


def export_follows(reader: Reader, *, now: datetime) -> Iterator[str]:
    """Credentials are left out, and senders of email, which are no feeds elsewhere."""
    channels = reader.channels.filter(is_notifications=False).order_by("position", "pk")
    rows = Follow.objects.of(reader).select_related("feed", "channel").order_by("channel__position", "pk")
    rows = rows.filter(feed__mail_source=None)
    listed = (
        Listed(
            row.feed.url,
            row.name or row.feed.title,
            row.feed.site_url,
            row.feed.language,
            folder=row.channel.name,
        )
        for row in rows
    )
    return write_opml(
        listed, title=f"Feeds of {reader}", created=now, first=channels.values_list("name", flat=True)
    )


def keep_list(*, reader: Reader, body: bytes, channel: Channel | None = None, now: datetime) -> FollowList:
    """Store a file for `follow_listed`, and create its channels. It may be a zip or JSON of saved posts.

    Feeds without a folder go into `channel`, or the first one. Raises OpmlError and other Refused.
    """
    opml, saved = _read(body)
    lines = _lines(opml, (channel or default_channel(reader)).name)
    lines += [
        FollowLine(line=number, url=one.link, name=_name(one.title), post=asdict(one))
        for number, one in enumerate(saved, 1)
    ]
    with transaction.atomic():
        Reader.objects.select_for_update(no_key=True).get(pk=reader.pk)
        if FollowList.objects.filter(reader=reader, ended_at=None).exists():
            words = gettext("Your last list is still being imported. Wait for it, or stop it.")
            raise TranslatedRefusal(words, "file")
        FollowList.objects.filter(reader=reader).delete()
        kept = FollowList.objects.create(reader=reader, is_broken=opml.is_broken, made_at=now)
        for line in lines:
            line.follow_list = kept
        FollowLine.objects.bulk_create(lines, batch_size=500)
    wanted = [line for line in lines if line.outcome != Outcome.REFUSED and is_address(line.url)]
    used = {line.channel: None for line in wanted if line.channel}
    folders = [name for name in opml.folders if _channel_name(name) in used or name in opml.kept_folders]
    named = [*map(_channel_name, folders), *used]
    for name in reversed(list(dict.fromkeys(named))):
        # Its lines will report the error.
        with suppress(Refused):
            channel_named(reader, name)
    return kept


def work_off_lists(*, clock: Callable[[], datetime] = utcnow, budget: timedelta | None = None) -> int:
    left = TimeBudget(budget)
    done = 0
    while not left.is_spent:
        waiting = waiting_lists(clock()).order_by("pk").first()
        if waiting is None:
            break
        done += follow_listed(waiting, clock=clock, left=left)
    return done


def waiting_lists(now: datetime) -> "QuerySet[FollowList]":
    return FollowList.objects.filter(unleased(now), ended_at=None)


def follow_listed(
    kept: FollowList,
    *,
    clock: Callable[[], datetime] = utcnow,
    left: TimeBudget | None = None,
    told: Callable[[], object] = lambda: None,
) -> int:
    """Follow a list's waiting lines, unless another worker does; return how many.

    Calls `told` after each. Lines that do not fit into `left` are for `work_off_lists`.
    """
    left = left or TimeBudget(None)
    token, until = lease(clock(), OPML_LEASE)
    ours = FollowList.objects.filter(pk=kept.pk, ended_at=None, lease_token=token)
    if not waiting_lists(clock()).filter(pk=kept.pk).update(lease_token=token, lease_until=until):
        return 0
    done = 0
    for line in FollowLine.objects.filter(follow_list=kept, outcome=Outcome.WAITING).order_by("pk"):
        if left.is_spent:
            ours.update(**RELEASED)
            return done
        # The lease was lost, or the list stopped.
        if not ours.update(lease_until=clock() + OPML_LEASE):
            return done
        # Reasons are stored in English; constant ones are translated when they are shown.
        with translation.override(settings.LANGUAGE_CODE):
            outcome, reason = _followed(kept.reader, line, READ_EVERY * done, clock)
        waits = FollowLine.objects.filter(pk=line.pk, outcome=Outcome.WAITING)
        forgotten: dict[str, Any] = {} if line.post is None else {"post": {}}
        done += waits.update(outcome=outcome, reason=reason or line.reason, **forgotten)
        told()
    ours.update(ended_at=clock(), **RELEASED)
    return done


@transaction.atomic
def stop_list(*, reader: Reader, now: datetime) -> None:
    kept = FollowList.objects.filter(reader=reader, ended_at=None)
    FollowLine.objects.filter(follow_list__in=kept, outcome=Outcome.WAITING).update(
        outcome=Outcome.REFUSED, reason=STOPPED
    )
    kept.update(ended_at=now, **RELEASED)


def report_of(kept: FollowList) -> ListReport:
    done = Q(post__isnull=False, outcome__in=(Outcome.FOLLOWED, Outcome.KNOWN))
    counts = kept.lines.order_by().values("outcome").annotate(n=Count("pk"))
    feeds = dict(counts.exclude(done).values_list("outcome", "n"))
    posts = dict(counts.filter(done).values_list("outcome", "n"))
    return ListReport(**feeds, posts=posts.get(Outcome.FOLLOWED, 0), known_posts=posts.get(Outcome.KNOWN, 0))


def _read(body: bytes) -> tuple[Opml, list[SavedPost]]:
    """Raises OpmlError, SavedPostsError and BadArchive."""
    if len(body) > MAX_BYTES:
        raise OpmlError(FILE_TOO_LARGE)
    if is_zip(body):
        return _unpacked(body)
    return (Opml(), parse_saved(body)) if is_json(body) else (parse_opml(body), [])


def _unpacked(body: bytes) -> tuple[Opml, list[SavedPost]]:
    opml, saved, budget = Opml(), list[SavedPost](), Budget(MAX_UNPACKED)
    with open_zip(BytesIO(body)) as archive:
        for member in archive.infolist():
            name = member.filename.lower()
            if not name.endswith((".json", ".xml", ".opml")) or (
                opml.outlines and not name.endswith(".json")
            ):
                continue
            content = read_member(archive, member, budget)
            if name.endswith(".json"):
                with suppress(EmptyPosts):
                    saved += parse_saved(content)
            else:
                opml = parse_opml(content)
    if not opml.outlines and not saved:
        raise OpmlError(NOTHING_IN_ZIP)
    if len(saved) > MAX_POSTS:
        raise OpmlError(TOO_MANY_POSTS)
    return opml, saved


def _lines(opml: Opml, otherwise: str) -> list[FollowLine]:
    """Return a line for each feed and channel, and for bad outlines. Raises OpmlError."""
    lines = [
        FollowLine(line=one.line, name=_name(one.title), outcome=Outcome.REFUSED, reason=one.reason)
        for one in opml.passed
    ]
    for outline in opml.outlines:
        url, secrets = split_address(listed_address(without_controls(outline.url))[: MAX_FEED_URL + 1])
        names = [*filter(None, [outline.folder]), *outline.categories] or [otherwise]
        for name in dict.fromkeys(map(_channel_name, names)):
            line = FollowLine(line=outline.line, url=url, name=_name(outline.title), channel=name)
            line.reason = outline.lost
            if secrets:
                line.outcome, line.reason = Outcome.REFUSED, NOT_OPEN
            elif outline.is_paused:
                line.outcome, line.reason = Outcome.REFUSED, PAUSED
            lines.append(line)
    if len(lines) > MAX_FEEDS:
        raise OpmlError(TOO_MANY_FEEDS)
    return sorted(lines, key=lambda line: line.line)


def _name(title: str) -> str:
    return without_secrets(title)[:LONGEST_FOLLOW_NAME].strip()


def _channel_name(name: str) -> str:
    return one_line(name)[:LONGEST_CHANNEL_NAME].strip()


def _followed(
    reader: Reader, line: FollowLine, wait: timedelta, clock: Callable[[], datetime]
) -> tuple[Outcome, str]:
    try:
        if line.post is not None:
            is_new = import_saved_post(reader=reader, saved=SavedPost(**line.post), now=clock())
            return Outcome.FOLLOWED if is_new else Outcome.KNOWN, ""
        if not is_address(line.url):
            return Outcome.REFUSED, NO_ADDRESS
        channel = channel_named(reader, line.channel)
        _, is_new = follow_unseen(channel=channel, url=line.url, name=line.name, wait=wait, clock=clock)
    except Refused as error:
        return Outcome.REFUSED, str(error)
    except ValidationError as error:
        return Outcome.REFUSED, " ".join(error.messages)
    except Exception:
        log.exception("could not follow a feed of an imported list", extra={"list": line.follow_list_id})
        return Outcome.REFUSED, OUR_FAULT
    return Outcome.FOLLOWED if is_new else Outcome.KNOWN, ""
