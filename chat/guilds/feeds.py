"""Each feed of a server is a bridge with a confirmed subscription."""

import logging
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from channels.letter import LetterError
from chat.discord.api import KIND
from chat.guilds.filters import set_words, words_of
from chat.guilds.servers import ACCOUNT_NAME
from chat.guilds.shared import drop_unused, feed_at, following_interval, leave_feed, locked_settings
from chat.models import BotFeed, BotSettings, Guild, GuildFeed, ServerAlert
from chat.rules.parse import LONGEST_INTERVAL
from common.ports import channels
from common.ports.channels import ParsedDestination
from common.refused import Refused
from delivery.bridges.messages import newest_letters
from delivery.bridges.trial_posts import NotDone, post_test
from delivery.lanes.lanes import lane_for
from delivery.letters.samples import NothingToShow
from delivery.models import Delivery
from delivery.models.delivery import WAITING
from feeds.addresses import host_of_url, same_address
from feeds.models import Feed
from subscriptions.collections.assign import drop_subscribable
from subscriptions.models import Subscribable, Subscription
from subscriptions.newsletters.define import alter_subscribable, define_subscribable
from subscriptions.rules.post_rules import typed_words
from subscriptions.rules.schedule import ARRANGEMENTS
from subscriptions.subscribers.admin_changes import subscribe_checked
from subscriptions.subscribers.leave import leave

log = logging.getLogger(__name__)

KEPT_AFTER_REMOVAL = timedelta(days=30)
TRIED_FOR = timedelta(hours=1)


def checked_channel(guild: Guild, channel_id: int) -> ParsedDestination:
    """Return Discord's data (network). Raises Refused, also for another server's channel."""
    kind = channels.get(KIND)
    given = {"account": ACCOUNT_NAME, "channel_id": str(channel_id)}
    found = kind.check(kind.parse_destination(given))
    if found.config.get("guild_id") != str(guild.pk):
        raise Refused(_("That channel isn’t in this server."))
    return found


def add_guild_feed(
    *,
    guild: Guild,
    url: str,
    title: str,
    to: ParsedDestination,
    options: Mapping[str, str],
    first_posts: int,
    language: str,
    by: int,
    interaction: int,
    now: datetime,
) -> GuildFeed:
    """Idempotent per interaction. Raises Refused, InvalidDestination and ValidationError."""
    with transaction.atomic():
        limits = locked_settings()
        guild = Guild.objects.select_for_update(no_key=True).get(pk=guild.pk)
        made = GuildFeed.objects.filter(guild=guild, interaction_id=interaction).first()
        if made is not None:
            return made
        _refuse_more(guild, limits)
        feed = _checked_feed(url, title, guild=guild, channel_id=int(to.config["channel_id"]), now=now)
        return post_feed(
            guild=guild,
            number=guild.next_number,
            feed=feed,
            title=title,
            to=to,
            options=options,
            language=language,
            now=now,
            added_by=by,
            added_at=now,
            interaction_id=interaction,
            first_posts=first_posts,
        )


def feed_in_channel(guild: Guild, feed: Feed, channel_id: int) -> GuildFeed | None:
    return GuildFeed.objects.present().filter(guild=guild, feed=feed, channel_id=channel_id).first()


def post_feed(
    *,
    guild: Guild,
    number: int,
    feed: Feed,
    title: str,
    to: ParsedDestination,
    options: Mapping[str, str],
    language: str,
    now: datetime,
    **facts: Any,
) -> GuildFeed:
    """Create the rows for a feed in a channel; `facts` are fields of GuildFeed.

    The caller's transaction has locked the server and checked limits. Raises InvalidDestination and
    ValidationError.
    """
    bridge = define_subscribable(
        name=f"discord-{guild.pk}-{number}",
        feeds=[feed],
        channel=KIND,
        title=title[:200],
        options=dict(options),
        visibility=Subscribable.Visibility.PRIVATE,
        sign_up=Subscribable.SignUp.CLOSED,
        time_zone=guild.zone,
        language=language,
    )
    subscribe_checked(subscribable=bridge, parsed=to, now=now)
    channel_id = int(to.config["channel_id"])
    with following_interval(feed):
        made = GuildFeed.objects.create(
            guild=guild, number=number, subscribable=bridge, feed=feed, channel_id=channel_id, **facts
        )
    Guild.objects.filter(pk=guild.pk).update(next_number=max(guild.next_number, number + 1))
    return made


def _refuse_more(guild: Guild, limits: BotSettings) -> None:
    limit = guild.most_feeds(limits)
    if guild.guild_feeds.present().count() >= limit:
        said = ngettext(
            "This server has reached its maximum of %(count)s feed. Remove it first.",
            "This server has reached its maximum of %(count)s feeds. Remove one first.",
            limit,
        )
        raise Refused(said % {"count": limit})


def _checked_feed(url: str, title: str, *, guild: Guild, channel_id: int, now: datetime) -> Feed:
    """Raises Refused. The caller's transaction holds the settings' lock."""
    limits = BotSettings.objects.get(pk=1)
    if limits.denies(host_of_url(url)):
        raise Refused(_("The operator of this bot has blocked that site."))
    feed, is_new = feed_at(url, title, now)
    if there := feed_in_channel(guild, feed, channel_id):
        raise Refused(_("That feed is already in this channel, as number %(id)s.") % {"id": there.number})
    if is_new and BotFeed.objects.filter(unused_since=None).count() > limits.feeds_in_all:
        raise Refused(
            _("This bot has reached its maximum number of feeds. Its operator can raise the limit.")
        )
    return feed


@transaction.atomic
def change_address(one: GuildFeed, *, url: str, now: datetime) -> GuildFeed:
    """Keeps the settings; idempotent. Raises Refused."""
    locked_settings()
    old = one.feed
    if same_address(url) == same_address(old.url):
        return one
    feed = _checked_feed(url, one.title, guild=one.guild, channel_id=one.channel_id, now=now)
    alter_subscribable(subscribable=one.subscribable, feeds=[feed])
    with following_interval(feed, old):
        one.feed = feed
        one.save(update_fields=["feed"])
    # Alerts about the old address.
    ServerAlert.objects.filter(guild_feed=one, applied_at=None).update(applied_at=now)
    leave_feed(old, now=now)
    return one


@transaction.atomic
def choose_interval(one: GuildFeed, *, minutes: int | None) -> None:
    """None: the default. Raises Refused."""
    limits = locked_settings()
    if minutes is not None and not limits.shortest_interval <= minutes <= LONGEST_INTERVAL:
        said = ngettext(
            "Choose from %(shortest)s to %(longest)s minute, or 0 for the default.",
            "Choose from %(shortest)s to %(longest)s minutes, or 0 for the default.",
            LONGEST_INTERVAL,
        )
        raise Refused(said % {"shortest": limits.shortest_interval, "longest": LONGEST_INTERVAL})
    if not BotFeed.objects.filter(feed=one.feed, is_operators=False).exists():
        raise Refused(_("That feed belongs to the operator, who decides how often it’s checked."))
    with following_interval(one.feed):
        GuildFeed.objects.filter(pk=one.pk).update(every_minutes=minutes)
    one.every_minutes = minutes
    one.feed.refresh_from_db()


@transaction.atomic
def copy_settings(one: GuildFeed, other: GuildFeed) -> None:
    """Copy looks, filter and digest, but no name, channel, forum tags or pause.

    Raises Refused and ValidationError.
    """
    source, target = other.subscribable, one.subscribable
    options = dict(source.options)
    if one.channel_id != other.channel_id:
        # Specific to a channel.
        options.pop("applied_tags", None)
        if own := target.options.get("applied_tags"):
            options["applied_tags"] = own
    names = {"arrangement", "time_zone", "visibility"} | ARRANGEMENTS[source.arrangement]
    names -= {"weekdays"}
    one.subscribable = alter_subscribable(
        subscribable=target, options=options, **{name: getattr(source, name) for name in names}
    )
    words = words_of(other)
    set_words(one, keep=typed_words(words["keep"]), drop=typed_words(words["drop"]))


def subscription_of(one: GuildFeed) -> Subscription | None:
    """Return None after removal."""
    rows = one.subscribable.subscriptions.filter(status=Subscription.Status.CONFIRMED, ended_at=None)
    return rows.select_related("destination", "subscribable").order_by("-pk").first()


def no_feed() -> Refused:
    return Refused(_("This server doesn’t have that feed. `/feed list` shows all feeds."))


def present_subscription(one: GuildFeed) -> Subscription:
    """Raises Refused after removal."""
    subscription = subscription_of(one)
    if subscription is None:
        raise no_feed()
    return subscription


def pause_feed(one: GuildFeed, *, is_paused: bool) -> None:
    """Posts from a pause are never posted."""
    alter_subscribable(subscribable=one.subscribable, stopped=is_paused)


@transaction.atomic
def remove_feed(one: GuildFeed, *, now: datetime) -> bool:
    """Cancel what waits; rows are kept for a month. False if already removed."""
    locked_settings()
    with following_interval(one.feed):
        if not GuildFeed.objects.filter(pk=one.pk, removed_at=None).update(removed_at=now):
            return False
    alter_subscribable(subscribable=one.subscribable, stopped=True)
    for subscription in one.subscribable.subscriptions.order_by("pk"):
        leave(subscription=subscription, now=now)
    leave_feed(one.feed, now=now)
    return True


@transaction.atomic
def move_feed(one: GuildFeed, *, to: ParsedDestination, now: datetime) -> None:
    """Move a feed with its settings and waiting posts. Raises Refused and InvalidDestination."""
    channel_id = int(to.config["channel_id"])
    if feed_in_channel(one.guild, one.feed, channel_id):
        raise Refused(_("That feed is already in that channel."))
    before = subscription_of(one)
    waiting = list(_waiting(before).select_for_update(no_key=True)) if before is not None else []
    after = subscribe_checked(subscribable=one.subscribable, parsed=to, now=now)
    if before is not None and before.pk != after.pk:
        lane = lane_for(kind=KIND, core=to.core, options=one.subscribable.options)
        known = Delivery.objects.filter(destination=after.destination).values("issue")
        rows = Delivery.objects.filter(pk__in=[row.pk for row in waiting]).exclude(issue__in=known)
        rows.update(subscription=after, destination=after.destination, lane=lane)
        leave(subscription=before, now=now)
    GuildFeed.objects.filter(pk=one.pk).update(channel_id=channel_id)


def _waiting(subscription: Subscription) -> "QuerySet[Delivery]":
    """Return waiting posts, also a pause's, unless they may have been posted."""
    waits = Q(state__in=WAITING) | (Q(state=Delivery.State.HELD) & ~Q(held_for=""))
    rows = Delivery.objects.filter(waits, subscription=subscription, kind=Delivery.Kind.ISSUE)
    return rows.filter(begun_at=None).order_by("pk")


def find_feed(guild: Guild, typed: str) -> GuildFeed:
    """Search by number, address or title. Raises Refused."""
    rows = guild.guild_feeds.present().select_related("subscribable", "feed", "guild")
    text = typed.strip()
    number = text.lstrip("#")
    found: QuerySet[GuildFeed] = rows.none()
    if number.isascii() and number.isdecimal() and len(number) < 9:
        found = rows.filter(number=int(number))
    if not found and text:
        found = rows.filter(Q(subscribable__title__iexact=text) | Q(feed__url=text))
    if not found and text:
        found = rows.filter(Q(subscribable__title__icontains=text) | Q(feed__url__icontains=text))
    several = list(found[:2])
    if len(several) == 1:
        return several[0]
    if several:
        raise Refused(_("Several feeds of this server match. Use the number shown by `/feed list`."))
    raise no_feed()


def suggestions(guild_id: int, typed: str) -> list[tuple[str, str]]:
    """Return (words, value) for up to 25 feeds, with one query."""
    rows = GuildFeed.objects.present().filter(guild=guild_id)
    text = typed.strip()[:100]
    if text:
        named = Q(subscribable__title__icontains=text) | Q(feed__url__icontains=text)
        if text.isascii() and text.isdecimal() and len(text) < 9:
            named |= Q(number=int(text))
        rows = rows.filter(named)
    pairs = rows.order_by("number").values_list("number", "subscribable__title")[:25]
    return [(f"{number} · {title}", str(number)) for number, title in pairs]


def forget_old(*, now: datetime) -> int:
    """Drop feeds removed a month ago."""
    done, before = 0, now - KEPT_AFTER_REMOVAL
    removed = GuildFeed.objects.filter(removed_at__lt=before).select_related("subscribable")
    for one in removed.order_by("pk")[:200]:
        drop_subscribable(subscribable=one.subscribable, force=True, now=now)
        done += 1
    return done + drop_unused(before=before, now=now)


def post_first(*, now: datetime) -> int:
    rows = GuildFeed.objects.present().filter(first_posts__gt=0, feed__first_polled_at__isnull=False)
    return sum(_post_first(one, now) for one in rows.select_related("subscribable").order_by("pk")[:50])


def _post_first(one: GuildFeed, now: datetime) -> int:
    posted, subscription = 0, subscription_of(one)
    try:
        there = len(newest_letters(one.subscribable, now=now, count=one.first_posts)) if subscription else 0
        for nth in range(min(one.first_posts, there), 0, -1):
            assert subscription is not None  # noqa: S101 - for the type checker
            post_test(subscription=subscription, now=now, nth=nth - 1, key=f"first-{one.pk}-{nth}")
            GuildFeed.objects.filter(pk=one.pk, first_posts__gte=nth).update(first_posts=nth - 1)
            posted += 1
    except NothingToShow:
        pass
    except (NotDone, LetterError, Refused) as error:
        log.warning("a first post was not posted: %s", error, extra={"guild_feed": one.pk})
        if now - one.added_at < TRIED_FOR:
            return posted
    GuildFeed.objects.filter(pk=one.pk).update(first_posts=0)
    return posted
