"""A reader's channel by email: a private newsletter with one subscriber, over a feed of the channel."""

import logging
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import get_language, gettext

from channels.languages import spoken
from common.clock import utcnow
from common.ports import channels
from common.ports.channel_letters import LettersState
from common.ports.events import Event, EventKind
from common.rates import DAY, Limit, OverLimit, check_rows, count_rows
from common.refused import Refused, TranslatedRefusal
from delivery.models import IssueItem
from feeds.adding.add import add_feed, feed_at
from feeds.models import Feed, Item
from feeds.models.feed import DELAYS, SWITCHES
from feeds.polling.read import digest
from reader.models import Channel, Letters
from reader.people.letters import address_of, guid_of, mark_sent, posts_in
from subscriptions.collections.assign import DONE, drop_subscribable
from subscriptions.models import Destination, Subscribable, Subscription, Suppression
from subscriptions.newsletters import define
from subscriptions.rules.origin import Origin
from subscriptions.subscribers.antispam import sign_up_uses
from subscriptions.subscribers.consent import confirming, record_consents
from subscriptions.subscribers.leave import drop_unused, leave
from subscriptions.subscribers.sign_up import SignUpRequest, answer_all, mark_confirmed

log = logging.getLogger(__name__)
EMAIL, OFF = "email", Letters.Arrangement.OFF
# Settings that both have. Only weekly ones have a weekday.
SAME = ("arrangement", "at", "weekday", "time_zone", "content", "max_posts")
CONFIRMED, LEFT = Subscription.Status.CONFIRMED, Subscription.Status.UNSUBSCRIBED
ASKED = Limit("channel by email", 10, DAY)
# The channel's posts have settled, and are read twice an hour.
FEED: dict[str, Any] = {
    **dict.fromkeys(DELAYS, 0),
    **dict.fromkeys(SWITCHES, False),
    "start": "all",
    "recheck_every_minutes": 30,
}
CLOSED: dict[str, Any] = {"visibility": "private", "sign_up": "closed", "stopped": True}
# Older posts leave the feed after an issue; the last reading before it may have missed later ones.
KEPT_AFTER_ISSUE = timedelta(days=2)


class ByNewsletter:
    @transaction.atomic
    def fit(self, letters: Letters, *, now: datetime) -> None:
        channel, reader = letters.channel, letters.channel.reader
        newsletter = _newsletter(channel)
        if letters.arrangement == OFF or not reader.user.email:
            for row in newsletter.subscriptions.exclude(status=LEFT) if newsletter else ():
                leave(subscription=row, now=now)
            Letters.objects.filter(pk=letters.pk).update(arrangement=OFF, since=None)
            return
        fields = {
            "title": channel.name,
            "description": f"Made for {reader.slug}, who gets the channel “{channel.name}” by email.",
            "language": spoken(get_language() or ""),
            **{name: getattr(letters, name) for name in SAME if name != "weekday" or letters.is_weekly},
        }
        url = address_of(letters)
        feed = (newsletter and newsletter.feeds.first()) or feed_at(url) or add_feed(url=url, now=now, **FEED)
        if newsletter is None:
            name = define.unused_name(f"reader-{reader.slug}-{channel.uid}")
            newsletter = define.define_subscribable(name=name, feeds=[feed], **CLOSED, **fields)
            newsletter.reader_channel, newsletter.awaits_first_reader = channel.pk, False
            newsletter.save(update_fields=["reader_channel", "awaits_first_reader"])
            newsletter.feeds.update(status=Feed.Status.PAUSED)
        else:
            newsletter = define.alter_subscribable(subscribable=newsletter, feeds=[feed], **fields)
        _subscribe(newsletter, channel, now=now)

    @transaction.atomic
    def drop(self, channel: Channel, *, now: datetime) -> None:
        if newsletter := _newsletter(channel):
            addresses = list(newsletter.subscriptions.values_list("destination", flat=True))
            feeds = list(newsletter.feeds.values_list("pk", flat=True))
            drop_subscribable(subscribable=newsletter, force=True, now=now)
            Feed.objects.filter(pk__in=feeds, subscribables=None).delete()
            drop_unused(addresses)

    def state(self, channel: Channel, *, now: datetime) -> LettersState | None:
        newsletter = _newsletter(channel)
        rows = Subscription.objects.exclude(status=LEFT).filter(subscribable=newsletter or 0)
        # Confirmed before unconfirmed.
        row = rows.select_related("destination").order_by("status").first()
        if newsletter is None or row is None:
            return None
        hashes = [digest(guid_of(channel, entry)) for entry in posts_in(channel.letters)]
        sent = Item.objects.filter(feed__subscribables=newsletter, guid_hash__in=hashes, state__in=DONE)
        is_on = row.status == CONFIRMED
        is_sent = is_on and not _is_blocked(row.destination.core)
        next_at = define.next_moments([newsletter], now=now)[newsletter.pk] if is_sent else None
        return LettersState(row.destination.label, is_on, next_at, len(hashes) - sent.count())


def on_event(event: Event, **_: Any) -> None:
    """Follow the subscription, and mark an issue's posts read, in the event's transaction."""
    if event.kind is EventKind.PUBLISHED and "reader_channel" in event.facts and event.facts["recipients"]:
        try:
            with transaction.atomic():
                _mark(event)
        except Exception:
            # The issue is sent all the same.
            log.exception("an issue's posts could not be marked read", extra={"issue": event.keys[0]})
    elif event.kind in (EventKind.CONFIRMED, EventKind.LEFT):
        ours = Subscribable.objects.filter(reader_channel__isnull=False)
        for newsletter in ours.filter(subscriptions__pk__any_of=frozenset(event.keys)).distinct():
            _follow(newsletter, event)


def on_user(instance: User, update_fields: Any = None, **_: Any) -> None:
    """Ask a changed address to confirm. Until then the former one gets the emails."""
    if update_fields is None or "email" in update_fields:
        for letters in Letters.objects.filter(channel__reader__user=instance).exclude(arrangement=OFF):
            # The channel's page shows the address.
            with suppress(Refused):
                ByNewsletter().fit(letters, now=utcnow())


def _newsletter(channel: Channel) -> Subscribable | None:
    return Subscribable.objects.filter(reader_channel=channel.pk).first()


def _mark(event: Event) -> None:
    rows = Letters.objects.filter(pk=int(event.facts["reader_channel"]))
    for letters in rows.select_related("channel__reader"):
        if letters.mark_read:
            # Further posts are only listed.
            posts = IssueItem.objects.filter(issue__in=event.keys).order_by("position")
            mark_sent(letters.channel, posts.values_list("entry__guid", flat=True)[: letters.max_posts])
    before = event.at - KEPT_AFTER_ISSUE
    rows.filter(since__lt=before).update(since=before)


def _follow(newsletter: Subscribable, event: Event) -> None:
    if event.kind is EventKind.CONFIRMED:
        for former in newsletter.subscriptions.confirmed().exclude(pk__in=event.keys):
            leave(subscription=former, now=event.at)
    is_on = newsletter.subscriptions.confirmed().exists()
    letters = Letters.objects.filter(pk=newsletter.reader_channel or 0)
    Subscribable.objects.filter(pk=newsletter.pk).update(stopped=not is_on)
    newsletter.feeds.update(status=Feed.Status.ACTIVE if is_on else Feed.Status.PAUSED)
    if is_on:
        letters.filter(since=None).update(arrangement=newsletter.arrangement, since=event.at)
    else:
        letters.update(arrangement=OFF, since=None)


def _is_blocked(core: str) -> bool:
    disabled = Destination.objects.filter(kind=EMAIL, core=core, disabled_at__isnull=False)
    return disabled.exists() or Suppression.objects.filter(kind=EMAIL, core=core).exists()


def _subscribe(newsletter: Subscribable, channel: Channel, *, now: datetime) -> None:
    """Confirm the account's address at once if its owner has before, or ask by email. Raises Refused."""
    parsed = channels.get(EMAIL).parse_destination({"email": channel.reader.user.email})
    rows = Subscription.objects.filter(destination__kind=EMAIL, destination__core=parsed.core)
    known = rows.filter(subscribable=newsletter).first()
    # Links that were sent to addresses which the account had before.
    others = newsletter.subscriptions.filter(status="unconfirmed").exclude(destination__core=parsed.core)
    others.update(status=LEFT, confirm_nonce="", asked_name="")
    if known is not None and known.status == CONFIRMED:
        return
    uses = [(ASKED, str(channel.reader_id)), *sign_up_uses(core=parsed.core, scopes=("address",))]
    try:
        counted = check_rows(uses, now)
    except OverLimit as error:
        raise TranslatedRefusal(gettext("Too many attempts. Please try again tomorrow.")) from error
    if _is_blocked(parsed.core):
        raise TranslatedRefusal(gettext("Nothing may be sent to your address now."))
    own = Channel.objects.filter(reader=channel.reader_id).values("pk")
    proof = rows.filter(subscribable__reader_channel__in=own, confirmed_at__isnull=False).first()
    if proof is not None:
        row = known or Subscription(subscribable=newsletter, destination=proof.destination, added_at=now)
        mark_confirmed(row, now=now)
        record_consents([confirming(row, Origin(), at=now)])
    elif answer_all(SignUpRequest([newsletter], parsed, "", Origin(), newsletter.language, now)):
        count_rows(counted)
