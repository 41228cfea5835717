"""Migration of feeds from another bot."""

from collections.abc import Sequence
from datetime import datetime

from django.db.models import Max

from chat.guilds.feeds import feed_in_channel, post_feed
from chat.guilds.servers import bot_settings, know_guild, language_of
from chat.guilds.shared import TIMING, locked_settings, shared_feed
from chat.models import BotFeed, Guild, GuildFeed
from common.ports.channels import ParsedDestination
from feeds.adding.add import alter_feed
from feeds.adding.known import add_known_feed, mark_known, waiting_among
from feeds.addresses import host_of_url
from feeds.models import Feed
from migrate_from.records import OldPost
from subscriptions.collections.edits import note_by_hand

# CordFeeder's format and ours.
USUAL_LOOK = {"style": "compact"}
# Not added by an interaction.
NO_INTERACTION = 0
LONGEST_NUMBER = 99_999_999


def take_feed(
    *,
    url: str,
    title: str,
    posts: Sequence[OldPost],
    read_from: datetime,
    read_until: datetime | None,
    sender: str,
    now: datetime,
    taken: Feed | None = None,
) -> tuple[Feed, int]:
    """Return the shared row for an address, and how many of the `posts` are new.

    The other bot's posts (`sender` is its name) are marked as known. A new row is paused until `resume_feed`;
    `taken` is an earlier run's row. In the caller's transaction. Raises ValidationError.
    """
    locked_settings()
    feed = taken or shared_feed(url)
    if feed is None:
        feed = add_known_feed(
            url=url, title=title, read_from=read_from, read_until=read_until, now=now, **TIMING
        )
        BotFeed.objects.create(feed=feed)
    return feed, mark_known(feed=feed, posts=posts, sender=sender)


def resume_feed(feed: Feed, *, now: datetime) -> None:
    """Start reading a feed, or mark it as unused. In the caller's transaction.

    Feeds that were read before are unchanged.
    """
    if feed.last_polled_at is not None:
        return
    if GuildFeed.objects.present().filter(feed=feed).exists():
        alter_feed(feed=feed, status=Feed.Status.ACTIVE)
    else:
        alter_feed(feed=feed, status=Feed.Status.STOPPED)
        BotFeed.objects.filter(feed=feed, unused_since=None).update(unused_since=now)


def why_not_taken(*, guild_id: int, url: str, channel_id: int) -> str:
    """Return "" if it can be migrated."""
    if bot_settings().denies(host_of_url(url)):
        return "The bot’s settings block its host. See the page “Discord bot”."
    guild = Guild.objects.filter(pk=guild_id).first()
    if guild is None:
        return ""
    if guild.banned_at is not None:
        return "This server is banned. Lift the ban on the page “Servers”, and run the import again."
    feed = shared_feed(url)
    there = feed_in_channel(guild, feed, channel_id) if feed else None
    if there is not None:
        return f"The same feed is already in that channel, as number {there.number}."
    return ""


def take_guild_feed(
    *,
    guild_id: int,
    wanted_number: int,
    feed: Feed,
    title: str,
    to: ParsedDestination,
    posts: Sequence[OldPost],
    added_by: int,
    added_at: datetime,
    now: datetime,
) -> GuildFeed:
    """Add a feed to its channel, with its number if that is free.

    Of its `posts`, those waiting here for other servers are left out. The server's limit is raised if
    necessary. In the caller's transaction. Raises InvalidDestination and ValidationError.
    """
    limits = locked_settings()
    know_guild(guild_id, locale="", now=now)
    guild = Guild.objects.select_for_update(no_key=True).get(pk=guild_id)
    numbers = guild.guild_feeds.all()
    last = numbers.aggregate(last=Max("number"))["last"] or 0
    is_free = 0 < wanted_number <= LONGEST_NUMBER and not numbers.filter(number=wanted_number).exists()
    made = post_feed(
        guild=guild,
        number=wanted_number if is_free else max(guild.next_number, last + 1),
        feed=feed,
        title=title,
        to=to,
        options=USUAL_LOOK,
        language=language_of(guild),
        now=now,
        added_by=added_by,
        added_at=added_at,
        interaction_id=NO_INTERACTION,
    )
    for item_id in waiting_among(feed=feed, posts=posts):
        note_by_hand(made.subscribable_id, item_id, now=now)
    count = guild.guild_feeds.present().count()
    limit = guild.feed_limit if guild.feed_limit is not None else limits.feeds_per_guild
    Guild.objects.filter(pk=guild_id).update(
        is_allowed=True, feed_limit=count if count > limit else guild.feed_limit
    )
    return made
