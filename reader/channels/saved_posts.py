"""Stars and read posts of another program, found by feed and id, else by link."""

from dataclasses import replace
from datetime import datetime

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils.translation import gettext_noop

from common.formats.written_dates import parsed_moment
from common.refused import Refused
from feeds.models import Item
from feeds.parsing.identity import link_hash
from feeds.polling.read import digest
from reader.channels.follows import shared_feed_at
from reader.channels.taken_over import OldPost, guids_of, take_posts
from reader.models import Entry, Follow, Reader, Star, TimelineEntry, Unread
from reader.rules.saved_posts import SavedPost

NOT_FOLLOWED = gettext_noop("You don’t follow its feed.")
NOTHING = gettext_noop("It has neither a text nor an address.")


def import_saved_post(*, reader: Reader, saved: SavedPost, now: datetime) -> bool:
    """Star or add a post, and mark it as read; never as unread. Return whether that changed anything.

    Raises Refused.
    """
    feed = shared_feed_at(saved.feed_url) if saved.feed_url else None
    entries = Entry.objects.filter(link_hash=link_hash(saved.link)).exclude(link_hash="")
    if feed is not None and saved.guid:
        ids = [digest(guid) for guid in guids_of(saved.guid)]
        entries = Entry.objects.filter(item__feed=feed, item__guid_hash__in=ids)
    there = _seen(reader, entries)
    if there is not None:
        return _marked(reader, there, saved, now)
    follow = Follow.objects.of(reader).filter(feed=feed).select_related("channel").first() if feed else None
    if follow is None and not saved.is_starred:
        raise Refused(NOT_FOLLOWED)
    if not (saved.html or saved.title or saved.link):
        raise Refused(NOTHING)
    post = saved.post
    if feed is not None and not saved.guid and saved.link:
        item = Item.objects.filter(feed=feed, link_hash=link_hash(saved.link)).order_by("pk").first()
        post = replace(post, guid=item.guid if item else "")
    came_at = parsed_moment(saved.came_at) or post.published or now
    old = OldPost(post, min(came_at, now), saved.is_read, saved.is_starred)
    take_posts(reader=reader, channel=follow.channel if follow else None, feed=feed, posts=[old], now=now)
    return True


def _seen(reader: Reader, entries: "QuerySet[Entry]") -> Entry | None:
    """Return the first that the reader sees, is about to see, or starred."""
    place = TimelineEntry.objects.seen().filter(entry=OuterRef("pk"), reader=reader)
    star = Star.objects.filter(entry=OuterRef("pk"), reader=reader)
    coming = Q(placed_at=None, feed__in=Follow.objects.of(reader).values("feed"))
    whole = entries.filter(Q(Exists(place)) | Q(Exists(star)) | coming, jf2__isnull=False)
    return whole.defer("text").order_by("pk").first()


@transaction.atomic
def _marked(reader: Reader, entry: Entry, saved: SavedPost, now: datetime) -> bool:
    changed = False
    if saved.is_starred:
        at = min(parsed_moment(saved.came_at) or now, now)
        changed = Star.objects.get_or_create(reader=reader, entry=entry, defaults={"at": at})[1]
    if saved.is_read:
        unread = Unread.objects.filter(reader=reader, place__entry=entry)
        changed = bool(unread.delete()[0]) or changed
    return changed
