"""Email to readers' secret addresses becomes posts, without network."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction

from common.net.client import Fetched
from common.rates import HOUR, Limit, count_within
from common.refused import Refused
from feeds.adding.add import add_feed
from feeds.addresses import host_of_url
from feeds.models import Feed
from feeds.parsing.entry import Entry as Post
from feeds.parsing.entry import Person, Social
from feeds.polling.read import OwnDocument
from reader.channels.channels import default_channel
from reader.channels.follows import follow_feed, refuse_more_in
from reader.channels.taken_over import OldPost, take_posts
from reader.inbox.addresses import LOCAL_PART, page_of, recipient_of
from reader.models import FeedIcon, Follow, MailAddress, MailMessage, MailSource, Reader
from reader.people.readers import may_read
from reader.rules.mail_posts import CONFIRM, MailPost, UnfitMail, read_mail

log = logging.getLogger(__name__)
TO_AN_ADDRESS = Limit("reader-mail", 200, HOUR)
MOST_RECIPIENTS = 10
MOST_SOURCES = 500
MOST_HELD, MOST_HELD_IN_ALL = 20, 200
KEPT_FOR = timedelta(days=30)
# Its posts are stored as they arrive, so it is never due.
NEVER = datetime(9000, 1, 1, tzinfo=UTC)
# Others may not follow it, and lists and picks of posts leave it out.
PRIVATE = {"header": "Feedletter-Mail", "value": "private"}
DOCUMENT = b'{"version": "https://jsonfeed.org/version/1.1", "items": []}'
State, Problem = MailSource.State, MailAddress.Problem


def knows_recipient(address: str) -> bool:
    """Return whether a reader has this address, in any case."""
    return bool(_addresses([address]))


def take_mail(raw: bytes, recipients: Sequence[str], now: datetime) -> str | None:
    """Store a post for each reader among the recipients; None if there is none. Safe to repeat.

    Raises Refused for a message that is too large or too complex, or one of too many.
    """
    if not _keys(recipients):
        return None
    addresses = _addresses(recipients)
    if not addresses:
        return "Ignored: no reader has this address."
    try:
        mail = read_mail(raw, now=now)
    except UnfitMail as error:
        if str(error) == "automatic":
            return "Ignored: an automatic message."
        for address in addresses:
            _note_problem(address, str(error), now)
        raise Refused(f"The message is too {error}.") from error
    if mail.domains & {host_of_url(settings.SITE_URL), *settings.FORMER_HOSTS, settings.BOUNCE_DOMAIN}:
        return "Ignored: this site sent it."
    return " ".join([_take(address, mail, now) for address in addresses])


def _addresses(recipients: Iterable[str]) -> list[MailAddress]:
    rows = MailAddress.objects.filter(key__in=_keys(recipients)).select_related("reader__user", "channel")
    return [row for row in rows if may_read(row.reader)]


def _keys(recipients: Iterable[str]) -> list[str]:
    matches = (LOCAL_PART.fullmatch(address.partition("@")[0]) for address in recipients)
    return [match[1].lower() for match in matches if match][:MOST_RECIPIENTS]


def _note_problem(address: MailAddress, problem: str, now: datetime) -> None:
    log.warning("refused mail to a reader: %s", problem, extra={"mail_address": address.pk})
    MailAddress.objects.filter(pk=address.pk).update(problem=problem, problem_at=now)


def _take(address: MailAddress, mail: MailPost, now: datetime) -> str:
    if not count_within((TO_AN_ADDRESS, str(address.pk))):
        _note_problem(address, Problem.MANY, now)
        raise Refused("Too many messages arrived in an hour.")
    source = _source(address, mail, now)
    if source is None:
        _note_problem(address, Problem.SOURCES, now)
        raise Refused("Too many senders.")
    if source.state == State.REFUSED:
        return "Dropped: its sender is refused."
    if source.messages.filter(digest=mail.digest).exists():
        return "Known."
    held = None
    if source.state == State.HELD or not _deliver(source, address, [mail.post], now):
        if source.state == State.REFUSED:
            return "Dropped: nobody follows it any more."
        held = _held(source, mail.post)
    # Last: a message is read again if the process dies before.
    MailMessage.objects.get_or_create(source=source, digest=mail.digest, defaults={"at": now, "held": held})
    return "Held." if source.state == State.HELD else "Stored."


@transaction.atomic
def _source(address: MailAddress, mail: MailPost, now: datetime) -> MailSource | None:
    """Return the source with its latest ways to unsubscribe; None if there would be too many."""
    reader = Reader.objects.select_for_update(no_key=True).get(pk=address.reader_id)
    source = MailSource.objects.filter(reader=reader, key=mail.source).first()
    if source is None:
        if MailSource.objects.filter(reader=reader).count() >= MOST_SOURCES:
            return None
        state = State.HELD if address.asks_first else State.ACCEPTED
        source = MailSource(reader=reader, key=mail.source, state=state, made_at=now)
    source.title, source.sender, source.sent_to = mail.title, mail.sender, recipient_of(address)
    leaving = mail.leaving
    if leaving.one_click or leaving.page or leaving.mailto:
        source.leaving = asdict(leaving)
    # The page may change its state meanwhile.
    source.save(update_fields=["title", "sender", "sent_to", "leaving"] if source.pk else None)
    return source


def _held(source: MailSource, post: Post) -> dict[str, Any] | None:
    in_all = MailMessage.objects.filter(source__reader=source.reader_id, held__isnull=False)
    if in_all.filter(source=source).count() >= MOST_HELD or in_all.count() >= MOST_HELD_IN_ALL:
        return None
    confirm = [url for kind, url in post.social.relations if kind == CONFIRM]
    return {"post": post.to_json(), CONFIRM: confirm}


def _deliver(source: MailSource, address: MailAddress | None, posts: Sequence[Post], now: datetime) -> bool:
    """Put posts where the source is followed. If that isn't possible, hold or refuse it and return False."""
    follows = list(Follow.objects.of(source.reader).filter(feed=source.feed_id).select_related("channel"))
    if not follows and source.newest_at is not None:
        # Unfollowed: its feed may be deleted since.
        return _become(source, State.REFUSED)
    if not follows:
        channel = (address and address.channel) or default_channel(source.reader)
        try:
            refuse_more_in(channel)
        except Refused:
            return _become(source, State.HELD)
        feed = Feed.objects.filter(mail_source=source).first() or _new_feed(source, now)
        follows = [follow_feed(channel=channel, feed=feed, name=source.title, clock=lambda: now)[0]]
        # It would be this site's own.
        FeedIcon.objects.filter(feed=feed).update(look_at=NEVER)
    for follow in follows:
        old = [OldPost(post, came_at=now, is_read=False) for post in posts]
        take_posts(reader=source.reader, channel=follow.channel, feed=source.feed, posts=old, now=now)
    MailSource.objects.filter(pk=source.pk).update(newest_at=now)
    Feed.objects.filter(mail_source=source).update(newest_at=now)
    return True


def _become(source: MailSource, state: str) -> bool:
    source.state = state
    source.save(update_fields=["state"])
    return False


@transaction.atomic
def _new_feed(source: MailSource, now: datetime) -> Feed:
    """Its title is only in the follow, as admins list feeds."""
    feed = add_feed(
        url=page_of(source), now=now, for_letters=False, credentials=PRIVATE, pace=Feed.Pace.ADAPTIVE
    )
    Feed.objects.filter(pk=feed.pk).update(first_polled_at=now, next_poll_at=NEVER, unread_since=now)
    source.feed = feed
    source.save(update_fields=["feed"])
    return feed


def accept(*, source: MailSource, now: datetime) -> bool:
    """Read a held or refused source from now on, with held messages. Returns False at the limit of feeds."""
    rows = list(source.messages.filter(held__isnull=False).order_by("pk")[:MOST_HELD])
    posts = [_post_of(row.held) for row in rows if row.held]
    source.state, source.newest_at = State.ACCEPTED, None
    source.save(update_fields=["state", "newest_at"])
    if not _deliver(source, next(iter(_addresses([source.sent_to])), None), posts, now):
        return False
    MailMessage.objects.filter(pk__in=[row.pk for row in rows]).update(held=None)
    return True


def refuse(*, source: MailSource) -> None:
    """Drop its messages from now on. Posts that were read stay."""
    with transaction.atomic():
        source.messages.update(held=None)
        _become(source, State.REFUSED)


def _post_of(held: dict[str, Any]) -> Post:
    post = Post.from_json(held["post"])
    relations = tuple((CONFIRM, url) for url in held[CONFIRM])
    return replace(post, social=Social(people=(Person(*post.authors[:1]),), relations=relations))


def prune_mail(*, now: datetime) -> None:
    MailMessage.objects.filter(at__lt=now - KEPT_FOR).delete()


def own_document(url: str, now: datetime) -> OwnDocument | None:
    """Return an empty feed, as only a person could have it polled."""
    if not url.startswith(page_of(None)):
        return None
    types = {"content-type": "application/feed+json"}
    return OwnDocument(Fetched(200, url, types, DOCUMENT), now, is_complete=False)
