"""Feeds that another bot posts in Discord servers. A feed is shared by its servers."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from hashlib import sha256
from pathlib import Path

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Max

from chat.checks import missing_settings
from chat.discord.api import ApiRefused, ask_bot
from chat.guilds.feeds import checked_channel, feed_in_channel, post_feed
from chat.guilds.servers import bot_settings, ensure_account, know_guild, language_of
from chat.guilds.shared import TIMING, locked_settings, shared_feed
from chat.models import BotFeed, Guild, GuildFeed
from common.admin.refusals import refusal_sentence
from common.ports.channels import InvalidDestination, ParsedDestination
from common.refused import Refused
from common.text import pluralize
from feedletter_site.migrate_from.again import FEED, gone_lines, mark_sent, waiting_titles
from feedletter_site.migrate_from.source import Origins, Part, Plan, Source
from feedletter_site.models import Origin
from feeds.adding.add import alter_feed, new_feed
from feeds.adding.known import add_known_feed, mark_known, sent_ids, waiting_among
from feeds.addresses import host_of_url, is_address, same_address
from feeds.credentials import split_address, without_secrets
from feeds.models import Feed, Item
from feeds.polling.read import Reading
from migrate_from import cordfeeder
from migrate_from.records import ImportResult, Line, OldPost, OldServerFeed, Options
from subscriptions.collections.edits import note_by_hand

SERVER_FEED = "server feed"
TWICE = "Another URL of the same feed already posts in that channel."
ELSEWHERE = "That channel isn’t in this server."
RUNS_STILL = timedelta(minutes=15)
# CordFeeder forgets posts after 90 days.
REMEMBERS = timedelta(days=89)
# CordFeeder's format and ours.
USUAL_LOOK = {"style": "compact"}
# Not added by an interaction.
NO_INTERACTION = 0
LONGEST_NUMBER = 99_999_999
NAMED = 3
CHANGES_FOR_ALL = (
    "Posts look the same as before, in the compact style. `/feed edit` has others.",
    "A post is sent once it hasn’t changed for 5 minutes, at the latest after 30.",
    "A server with more feeds than the limit keeps them all, because its own limit is raised.",
    "If you allow servers one by one, imported servers are allowed.",
    "How often a feed is read depends on how often it publishes, not on CordFeeder's intervals.",
)


class CordFeeder(Source):
    key = "cordfeeder"
    name = "CordFeeder"
    file_help = (
        "A copy of the file that DATABASE_PATH names in its .env. This makes a complete one while CordFeeder"
        ' runs: sqlite3 feeds.db ".backup copy.db"'
    )
    second = "-wal"
    second_help = "The file that ends in -wal, if you copied the files by hand: the latest posts are in it."

    def read(self, place: str, *, options: Options, now: datetime) -> Plan:
        """Raises Refused."""
        feeds, refused = cordfeeder.read(Path(place), now=now)
        by_address: dict[str, list[OldServerFeed]] = defaultdict(list)
        for one in feeds:
            bare, secrets = split_address(one.url)
            why = "Its URL can’t be read. Add the right one with /feed add." if not is_address(bare) else ""
            if secrets:
                why = (
                    "Its URL contains a user name and a password, which others would see. Add the feed in the"
                    " admin, and create a bridge for it."
                )
            if why:
                refused.append(_refused(one, why))
            else:
                by_address[same_address(bare)].append(replace(one, url=bare))
        addresses = [Address(tuple(each)) for each in by_address.values()]
        notes = list(CHANGES_FOR_ALL)
        last = max((one.read_until for one in addresses if one.read_until), default=None)
        if last is not None:
            notes.insert(0, _about_last_look(last, now))
        channels: dict[int, ParsedDestination | str] = {}
        keys = [_old_key(each) for one in addresses for each in one.feeds]
        rows = GuildFeed.objects.present()
        gone = partial(gone_lines, kind=SERVER_FEED, keys=keys, rows=rows)
        return Plan([AddressPart(one, channels) for one in addresses], refused, notes, gone=gone)

    def prepare(self, *, now: datetime) -> None:
        """Raises Refused unless Discord accepts a bot's token."""
        if missing := missing_settings():
            raise Refused(
                f"Set {', '.join(missing)} first, as CordFeeder's application has them: its servers know that"
                " bot. docs/discord-bot.md says how."
            )
        try:
            ensure_account(now=now)
        except (InvalidDestination, ValidationError) as error:
            raise Refused(f"Discord does not take the bot's token: {error}") from error


@dataclass(frozen=True, slots=True)
class Address:
    """Feed that servers share."""

    feeds: tuple[OldServerFeed, ...]

    @property
    def url(self) -> str:
        """Of the feed that was read last."""
        return max(self.feeds, key=lambda one: (one.polled_at or one.created_at, one.number)).url

    @property
    def title(self) -> str:
        return next((one.title for one in self.feeds if one.title), "")

    @property
    def old_key(self) -> str:
        return sha256(same_address(self.url).encode()).hexdigest()[:32]

    @property
    def read_until(self) -> datetime | None:
        return max((one.polled_at for one in self.feeds if one.polled_at), default=None)

    @property
    def posts(self) -> list[OldPost]:
        """Sent to one server counts as sent."""
        by_guid: dict[str, OldPost] = {}
        for post in (post for one in self.feeds for post in one.posts):
            there = by_guid.get(post.guid)
            if there is None or (post.was_sent and not there.was_sent):
                by_guid[post.guid] = post
        return list(by_guid.values())

    def differences(self) -> Iterable[tuple[OldServerFeed, list[str]]]:
        sent = {post.guid: post.at for one in self.feeds for post in one.posts if post.was_sent}
        for one in self.feeds:
            here = {post.guid for post in one.posts}
            lacking = [guid for guid, at in sent.items() if guid not in here and at > _read_from(one)]
            if lacking:
                yield one, lacking


def _old_key(one: OldServerFeed) -> str:
    """Addresses are unique within a server."""
    return f"{one.guild_id}/{sha256(one.url.encode()).hexdigest()[:32]}"


def _label(one: OldServerFeed) -> str:
    return one.label + ("" if one.title else without_secrets(one.url))


def _refused(one: OldServerFeed, why: str) -> Line:
    return Line(ImportResult.REFUSED, "server's feed", _label(one), why)


def _read_from(one: OldServerFeed) -> datetime:
    """From then on all posts are known."""
    return max(one.created_at, one.polled_at - REMEMBERS) if one.polled_at else one.created_at


@dataclass(slots=True)
class AddressPart(Part):
    """`channels` caches Discord's answers for all parts."""

    address: Address
    channels: dict[int, ParsedDestination | str] = field(repr=False)

    def preview(self, origins: Origins, *, now: datetime) -> Sequence[Line]:
        lines, free = self._known_and_free(origins)
        for one in free:
            words, why = f"Continues in channel {one.channel_id}.", _foreseen(one)
            fate = ImportResult.REFUSED if why else ImportResult.TAKEN
            lines.append(Line(fate, "server's feed", _label(one), why or words))
        if any(line.fate is ImportResult.TAKEN for line in lines) or origins.find(FEED, self.address.old_key):
            sent = sum(post.was_sent for post in self.address.posts)
            lines.append(self._about_feed(f"{pluralize(sent, 'post')} that it had sent are marked."))
            lines += self._differences()
        return lines

    def take(self, origins: Origins, *, now: datetime) -> Sequence[Line]:
        """Check the channels, create the feed paused, then its servers, then resume it."""
        lines, free = self._known_and_free(origins)
        ready: list[tuple[OldServerFeed, ParsedDestination]] = []
        for one in free:
            place = self._channel(one)
            if isinstance(place, str):
                lines.append(_refused(one, place))
            else:
                ready.append((one, place))
        origin = origins.find(FEED, self.address.old_key)
        if not ready and origin is None:
            return lines
        try:
            feed, marked = self._take_feed(origins, now)
        except (Refused, ValidationError) as error:
            why = refusal_sentence(error)
            return [*lines, *(_refused(one, why) for one, _place in ready)]
        for one, place in ready:
            lines += self._take_server_feed(one, place, feed, origins, now)
        with transaction.atomic():
            origin = origins.find(FEED, self.address.old_key)
            if origin is not None and origin.finished_at is None:
                _resume(feed, now)
                origins.finish(FEED, self.address.old_key, now=now)
        lines.append(self._about_feed(f"{pluralize(marked, 'post')} marked that it had sent or passed over."))
        return [*lines, *self._differences()]

    def feed_ahead(self, origins: Origins, *, now: datetime) -> Feed | None:
        origin = origins.find(FEED, self.address.old_key)
        if origin is None and not self._known_and_free(origins)[1]:
            return None
        taken = self._taken(origin)
        return taken or shared_feed(self.address.url) or new_feed(url=self.address.url, now=now)

    def take_feed(
        self, origins: Origins, answer: Reading, *, now: datetime
    ) -> tuple[Feed, Mapping[int, str]]:
        _lines, free = self._known_and_free(origins)
        feed, _marked = self._take_feed(origins, now)
        if not free:
            return feed, waiting_titles(feed)
        waiting = dict(Item.objects.unassigned().filter(feed=feed, held_at=None).values_list("pk", "title"))
        # Posts that all its servers got are not sent.
        had = [set(waiting_among(feed=feed, posts=one.posts)) for one in free]
        return feed, {pk: title for pk, title in waiting.items() if any(pk not in keys for keys in had)}

    def _known_and_free(self, origins: Origins) -> tuple[list[Line], list[OldServerFeed]]:
        lines, free = [], []
        there: set[tuple[int, int]] = set()
        for one in self.address.feeds:
            origin, place = origins.find(SERVER_FEED, _old_key(one)), (one.guild_id, one.channel_id)
            if origin is not None:
                lines.append(Line(ImportResult.THERE, "server's feed", _label(one), _since_then(one, origin)))
            elif why := TWICE if place in there else _why_not(one):
                lines.append(_refused(one, why))
            else:
                free.append(one)
            there.add(place)
        return lines, free

    def _channel(self, one: OldServerFeed) -> ParsedDestination | str:
        """Return the channel (network), or why it is unusable. Raises Refused if Discord cannot be asked."""
        channel = self.channels.get(one.channel_id)
        if channel is None:
            try:
                channel = checked_channel(Guild(pk=one.guild_id), one.channel_id)
            except InvalidDestination:
                channel = _why_no_channel(one.channel_id)
            except Refused as error:
                return str(error)
            self.channels[one.channel_id] = channel
        if not isinstance(channel, str) and channel.config["guild_id"] != str(one.guild_id):
            return ELSEWHERE
        return channel

    @property
    def name(self) -> str:
        return self.address.url

    def _taken(self, origin: Origin | None) -> Feed | None:
        row = BotFeed.objects.filter(feed=origin.row, unused_since=None).first() if origin else None
        return row.feed if row else None

    @transaction.atomic
    def _take_feed(self, origins: Origins, now: datetime) -> tuple[Feed, int]:
        """Raises Refused and ValidationError."""
        address = self.address
        # Serializes runs; the second continues with the rows of the first.
        locked_settings()
        origin = origins.find(FEED, address.old_key)
        feed = self._taken(origin) or shared_feed(address.url)
        if feed is None:
            feed = add_known_feed(
                url=address.url,
                title=address.title,
                read_from=min(map(_read_from, address.feeds)),
                read_until=address.read_until,
                now=now,
                **TIMING,
            )
            BotFeed.objects.create(feed=feed)
        marked = mark_known(feed=feed, posts=address.posts, sender=CordFeeder.name)
        if origin is None:
            origins.note(FEED, address.old_key, feed.pk, now=now)
        elif origin.row != feed.pk:
            origins.renew(origin, feed.pk)
        self._keep_out(feed, origins, now)
        return feed, marked

    def _keep_out(self, feed: Feed, origins: Origins, now: datetime) -> None:
        """Leave out what CordFeeder posted since an earlier import, and waits here."""
        sent = {}
        for one in self.address.feeds:
            origin = origins.find(SERVER_FEED, _old_key(one))
            if origin and (here := GuildFeed.objects.present().filter(pk=origin.row).first()):
                sent[here.subscribable_id] = sent_ids(one.posts)
        mark_sent(feed, sent, sender=CordFeeder.name, now=now)

    def _take_server_feed(
        self, one: OldServerFeed, place: ParsedDestination, feed: Feed, origins: Origins, now: datetime
    ) -> Iterator[Line]:
        try:
            with transaction.atomic():
                made = _add_to_server(one, place, feed, now)
                origins.note(SERVER_FEED, _old_key(one), made.pk, now=now, finished=True)
        except (InvalidDestination, ValidationError) as error:
            yield _refused(one, refusal_sentence(error))
        else:
            words = f"Continues in channel {one.channel_id}, with the number {made.number}."
            yield Line(ImportResult.TAKEN, "server's feed", _label(one), words)
            if made.number != one.number:
                words = (
                    f"Its number was {one.number}, which another feed of the server has: now {made.number}."
                )
                yield Line(ImportResult.CHANGED, "server's feed", _label(one), words)

    def _about_feed(self, words: str) -> Line:
        servers = len({one.guild_id for one in self.address.feeds})
        return Line(ImportResult.TAKEN, "feed", self.address.url, f"{pluralize(servers, 'server')}. {words}")

    def _differences(self) -> Iterator[Line]:
        for one, guids in self.address.differences():
            named = ", ".join(guid[:100] for guid in guids[:NAMED]) + (" …" if len(guids) > NAMED else "")
            words = f"{pluralize(len(guids), 'post')} that another server got will not come here: {named}"
            yield Line(ImportResult.CHANGED, "posts", _label(one), words)


def _about_last_look(last: datetime, now: datetime) -> str:
    if now - last < RUNS_STILL:
        ago = pluralize((now - last) // timedelta(minutes=1), "minute")
        return f"CordFeeder read a feed {ago} ago. If it runs still, stop it: both would post."
    return (
        f"By this file CordFeeder read a feed last on {last:%Y-%m-%d at %H:%M} UTC. Did it run after that?"
        " Then take the file that it left when it was stopped: what it posted since would come twice."
    )


def _foreseen(one: OldServerFeed) -> str:
    """Return why the channel is unusable, if a bot whose token is set can tell (network)."""
    if missing_settings():
        return ""
    try:
        channel = ask_bot("GET", f"/channels/{one.channel_id}")
    except ApiRefused as error:
        return "" if error.is_temporary else _no_channel(one.channel_id, error)
    return "" if str(channel.get("guild_id")) == str(one.guild_id) else ELSEWHERE


def _no_channel(channel_id: int, error: ApiRefused) -> str:
    return (
        f"Discord lets the bot post nothing in channel {channel_id}: {error} Let the bot see the channel and"
        " run it again, or add the feed in another one by /feed add."
    )


def _why_no_channel(channel_id: int) -> str:
    """Ask Discord (network). Raises Refused for temporary errors."""
    try:
        ask_bot("GET", f"/channels/{channel_id}")
    except ApiRefused as error:
        if error.is_temporary:
            raise Refused(
                f"Discord could not be asked about channel {channel_id}: {error} Run it again later; what was"
                " taken stays."
            ) from error
        return _no_channel(channel_id, error)
    return f"Nobody can post in channel {channel_id}: it holds other channels. Use /feed add in another one."


def _since_then(one: OldServerFeed, origin: Origin) -> str:
    here = GuildFeed.objects.filter(pk=origin.row).first()
    if here is None or here.removed_at is not None:
        return "It was imported before and then removed here."
    if here.channel_id != one.channel_id:
        return (
            f"CordFeeder posts it in channel {one.channel_id} now, and here it stays in {here.channel_id}:"
            f" `/feed move {here.number}` moves it."
        )
    return f"It has the number {here.number}."


def _resume(feed: Feed, now: datetime) -> None:
    """Start reading a feed, or mark it as unused. Feeds that were read before are unchanged."""
    if feed.last_polled_at is not None:
        return
    if GuildFeed.objects.present().filter(feed=feed).exists():
        alter_feed(feed=feed, status=Feed.Status.ACTIVE)
    else:
        alter_feed(feed=feed, status=Feed.Status.STOPPED)
        BotFeed.objects.filter(feed=feed, unused_since=None).update(unused_since=now)


def _why_not(one: OldServerFeed) -> str:
    """Return "" if it can be migrated."""
    if bot_settings().denies(host_of_url(one.url)):
        return "The bot’s settings block its host. See the page “Discord bot”."
    guild = Guild.objects.filter(pk=one.guild_id).first()
    if guild is None:
        return ""
    if guild.banned_at is not None:
        return "This server is banned. Lift the ban on the page “Servers”, and run the import again."
    feed = shared_feed(one.url)
    there = feed_in_channel(guild, feed, one.channel_id) if feed else None
    if there is not None:
        return f"The same feed is already in that channel, as number {there.number}."
    return ""


def _add_to_server(one: OldServerFeed, place: ParsedDestination, feed: Feed, now: datetime) -> GuildFeed:
    """Add a feed to its channel, with its number if that is free, in the caller's transaction.

    Of its posts, those waiting here for other servers are left out. The server's limit is raised if
    necessary. Raises InvalidDestination and ValidationError.
    """
    limits = locked_settings()
    know_guild(one.guild_id, locale="", now=now)
    guild = Guild.objects.select_for_update(no_key=True).get(pk=one.guild_id)
    numbers = guild.guild_feeds.all()
    last = numbers.aggregate(last=Max("number"))["last"] or 0
    is_free = one.number <= LONGEST_NUMBER and not numbers.filter(number=one.number).exists()
    made = post_feed(
        guild=guild,
        number=one.number if is_free else max(guild.next_number, last + 1),
        feed=feed,
        title=one.title or feed.title or one.url,
        to=place,
        options=USUAL_LOOK,
        language=language_of(guild),
        now=now,
        added_by=one.added_by,
        added_at=one.created_at,
        interaction_id=NO_INTERACTION,
    )
    for item_id in waiting_among(feed=feed, posts=one.posts):
        note_by_hand(made.subscribable_id, item_id, now=now)
    count = guild.guild_feeds.present().count()
    limit = count if count > guild.most_feeds(limits) else guild.feed_limit
    Guild.objects.filter(pk=guild.pk).update(is_allowed=True, feed_limit=limit)
    return made
