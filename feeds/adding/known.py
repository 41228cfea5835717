"""Feeds that another program has read: posts must not be sent twice."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db import transaction

from feeds.adding.add import add_feed
from feeds.models import Feed, Item
from feeds.parsing.fields import identity
from feeds.parsing.identity import link_hash
from feeds.polling.known_items import chunks
from feeds.polling.read import digest
from feeds.rules.plan import THERE_BEFORE
from migrate_from.records import OldPost


def add_known_feed(
    *, url: str, title: str, read_from: datetime, read_until: datetime | None, now: datetime, **settings: Any
) -> Feed:
    """Add a paused feed that the other program read until `read_until`, or never (None).

    The caller marks its posts, creates its newsletters and resumes it. Posts from before `read_from` are not
    sent; unmarked ones from before `read_until` are held. Raises ValidationError.
    """
    with transaction.atomic():
        feed = add_feed(url=url, now=now, title=title, **settings)
        feed.added_at, feed.status = read_from, Feed.Status.PAUSED
        if read_until is not None:
            # Otherwise the first reading would omit posts of the meantime.
            feed.first_polled_at, feed.read_elsewhere_until = read_from, read_until
        feed.save(update_fields=["added_at", "status", "first_polled_at", "read_elsewhere_until"])
    return feed


def mark_known(*, feed: Feed, posts: Iterable[OldPost], sender: str) -> int:
    """Return how many items of posts that `sender` knew are new.

    A guid that is an address may be the link of a post without guid, so both ids are marked.
    """
    rows: dict[str, Item] = {}
    seconds: dict[str, Item] = {}
    for post in posts:
        link = post.guid if post.guid.startswith(("http://", "https://")) else ""
        item = known_item(feed, identity({"id": post.guid}), post, link, sender)
        rows[item.guid_hash] = item
        if link:
            other = known_item(feed, identity({"link": link}), post, link, sender)
            # Keeps it out of lists of the latest posts.
            other.state, other.first_seen = Item.State.EXCLUDED, feed.added_at
            seconds[other.guid_hash] = other
    marked = 0
    for ids in chunks([*rows, *(seconds.keys() - rows.keys())]):
        there = set(Item.objects.filter(feed=feed, guid_hash__in=ids).values_list("guid_hash", flat=True))
        new = [id_ for id_ in ids if id_ not in there]
        Item.objects.bulk_create([rows.get(id_) or seconds[id_] for id_ in new], ignore_conflicts=True)
        marked += sum(id_ in rows for id_ in new)
    return marked


def waiting_among(*, feed: Feed, posts: Iterable[OldPost]) -> list[int]:
    items = dict(Item.objects.unassigned().filter(feed=feed).values_list("guid_hash", "pk"))
    ids = sent_ids(posts) if items else frozenset()
    return [pk for id_, pk in items.items() if id_ in ids]


def sent_ids(posts: Iterable[OldPost]) -> frozenset[str]:
    """Return the digests that sent posts may have here."""
    sent = [post.guid for post in posts if post.was_sent]
    return frozenset(digest(identity({key: guid})) for guid in sent for key in ("id", "link"))


def sent_by(sender: str) -> str:
    """Return the reason of items that another program sent."""
    return f"sent by {sender}"


def known_item(feed: Feed, guid: str, post: OldPost, link: str, sender: str) -> Item:
    """Return an unsaved row."""
    return Item(
        feed=feed,
        guid=guid,
        guid_hash=digest(guid),
        link=link,
        link_hash=link_hash(link),
        state=Item.State.CLEARED if post.was_sent else Item.State.EXCLUDED,
        reason=sent_by(sender) if post.was_sent else THERE_BEFORE,
        first_seen=post.at,
        stable_since=post.at,
        last_checked=post.at,
    )
