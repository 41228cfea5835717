"""Webmentions that another program had verified."""

import hashlib
from datetime import datetime
from http import HTTPStatus
from urllib.parse import urljoin

from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from common.clock import utcnow
from common.rates import HOUR, Limit, count_within
from common.refused import Refused
from common.text import one_line
from feeds.addresses import MAX_FEED_URL, host_of_url
from feeds.parsing.entry import Entry as Post
from feeds.parsing.entry import Person
from feeds.polling.read import clean_entry
from reader.channels.filters import mutes_in
from reader.entries.place import arrival, lock_placing
from reader.entries.take import said_by
from reader.indieauth.discovery import profile_of
from reader.mentions.check import show_mention
from reader.models import Channel, Mention, Reader
from reader.people.readers import reading
from reader.rules.jf2 import author_key
from reader.rules.mentions import LOOK_EVERY, comparable, is_within

MOST_WAITING = 10_000
OF_A_NETWORK = Limit("mention-of", 30)
OF_A_HOST = Limit("mention-by", 20)
TO_A_READER = Limit("mention-to", 200, HOUR)
MANY = "Too many webmentions. Send it again later."
WEBMENTION_TYPE = "application/x-www-form-urlencoded"
THANKS = "Thank you. We’ll check the source soon."


class TooMany(Refused):
    """Retry after `seconds`."""

    def __init__(self, message: str, *, seconds: int) -> None:
        super().__init__(message)
        self.seconds = seconds


def receive(*, reader: Reader, source: str, target: str, asker: str, now: datetime) -> Mention:
    """Queue a mention, even a known one. `asker` is an IP address. Raises Refused and TooMany."""
    source, target = source.strip(), target.strip()
    for name, url in (("source", source), ("target", target)):
        if not comparable(url) or url != one_line(url) or len(url) > MAX_FEED_URL:
            raise Refused(f"{name} must be an address that starts with http:// or https://.", name)
    if comparable(source) == comparable(target):
        raise Refused("The source and the target are the same page.", "source")
    own_pages = [profile_of(reader), *([reader.me] if reader.verified_at else [])]
    if not is_within(target, own_pages):
        raise Refused("The target isn’t a page that accepts webmentions here.", "target")
    # Not by target, which senders can vary.
    host, of_reader = (OF_A_HOST, host_of_url(source)), (TO_A_READER, str(reader.pk))
    for uses in ([*OF_A_NETWORK.by_network(asker)], [host], [of_reader]):
        if not count_within(*uses):
            raise TooMany(MANY, seconds=uses[0][0].seconds)
    return _queued(reader, source, target, now)


@transaction.atomic
def _queued(reader: Reader, source: str, target: str, now: datetime) -> Mention:
    pair = pair_of(source, target)
    # Keeps a pair in one row, and the queue below MOST_WAITING.
    Reader.objects.select_for_update(no_key=True).get(pk=reader.pk)
    mention = Mention.objects.select_for_update().filter(reader=reader, pair=pair).first()
    is_more = mention is None or mention.due_at is None
    if is_more and Mention.objects.filter(due_at__isnull=False).count() >= MOST_WAITING:
        raise TooMany("Too many mentions are waiting. Send it again later.", seconds=HOUR)
    if mention is None:
        return Mention.objects.create(
            reader=reader, source=source, target=target, pair=pair, received_at=now, due_at=now
        )
    # The source may change while it is fetched.
    looked = now if mention.lease_token else mention.checked_at
    turn = max(now, looked + LOOK_EVERY) if looked else now
    waiting = None if mention.lease_token else mention.due_at
    mention.due_at = min(waiting, turn) if waiting else turn
    mention.attempts = 0
    mention.save(update_fields=["due_at", "attempts"])
    return mention


def pair_of(source: str, target: str) -> str:
    return hashlib.sha256(f"{comparable(source)}\n{comparable(target)}".encode()).hexdigest()


@csrf_exempt
def webmention(request: HttpRequest, slug: str) -> HttpResponse:
    """Return 202 for queued mentions, 400 for invalid ones."""
    reader = reading(slug=slug)
    if reader is None:
        raise Http404("No one with that name reads here.")
    if request.method != "POST":
        words = "This address accepts webmentions. POST a form with source and target."
        return _told(words, HTTPStatus.METHOD_NOT_ALLOWED, Allow="POST")
    if request.content_type != WEBMENTION_TYPE:
        return _told(f"Send a form ({WEBMENTION_TYPE}) with source and target.", HTTPStatus.BAD_REQUEST)
    given = {name: request.POST.get(name, "") for name in ("source", "target")}
    try:
        receive(reader=reader, asker=request.META.get("REMOTE_ADDR", ""), now=utcnow(), **given)
    except TooMany as error:
        headers = {"Retry-After": str(error.seconds)}
        return _told(str(error), HTTPStatus.TOO_MANY_REQUESTS, **headers)
    except Refused as error:
        return _told(str(error), HTTPStatus.BAD_REQUEST)
    return _told(THANKS, HTTPStatus.ACCEPTED)


def _told(words: str, status: HTTPStatus, **headers: str) -> HttpResponse:
    headers["Cache-Control"] = "no-store"
    return HttpResponse(
        f"{words}\n", status=status, content_type="text/plain; charset=utf-8", headers=headers
    )


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
