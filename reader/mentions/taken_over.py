"""Webmentions that another program had verified."""

import hashlib
from datetime import datetime
from urllib.parse import urljoin

from django.db import transaction

from common.refused import Refused
from common.text import one_line
from feeds.addresses import MAX_FEED_URL, host_of_url
from feeds.parsing.entry import Entry as Post
from feeds.parsing.entry import Person
from feeds.polling.read import clean_entry
from reader.channels.filters import mutes_in
from reader.entries.place import arrival, lock_placing
from reader.entries.take import said_by
from reader.mentions.check import show_mention
from reader.mentions.receive import pair_of
from reader.models import Channel, Mention, Reader
from reader.rules.authors import author_key
from reader.rules.mentions import comparable


def known_pairs(reader: Reader) -> set[str]:
    return set(Mention.objects.filter(reader=reader).values_list("pair", flat=True))


def take_mention(
    *,
    reader: Reader,
    source: str,
    target: str,
    post: Post,
    kind: str,
    came_at: datetime,
    is_read: bool,
    now: datetime,
) -> bool:
    """Show a mention among the notifications; `post` is not sanitized. Returns False if it is there.

    Raises Refused.
    """
    for url in (source, target):
        if not comparable(url) or url != one_line(url) or len(url) > MAX_FEED_URL:
            raise Refused("Its source or target isn’t an address that starts with http:// or https://.")
    site = Person(host_of_url(source), urljoin(source, "/"))
    columns = {**said_by(clean_entry(post, source), site, came_at), "kind": kind}
    columns["hash"] = hashlib.sha256(repr(columns["jf2"]).encode()).hexdigest()
    with transaction.atomic():
        lock_placing()
        now = arrival(now)
        Reader.objects.select_for_update(no_key=True).get(pk=reader.pk)
        pair = pair_of(source, target)
        if Mention.objects.filter(reader=reader, pair=pair).exists():
            return False
        channel = Channel.objects.get(reader=reader, is_notifications=True)
        is_block = mutes_in(channel)
        if any(is_block.get(key) for key in (columns["author_key"], author_key(site.url))):
            return False
        entry = show_mention(channel, columns, now, at=min(came_at, now), is_unread=not is_read)
        Mention.objects.create(
            reader=reader,
            source=source,
            target=target,
            pair=pair,
            entry=entry,
            received_at=came_at,
            due_at=None,
            checked_at=now,
        )
    return True
