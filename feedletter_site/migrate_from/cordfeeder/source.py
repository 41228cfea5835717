"""CordFeeder, a Discord bot for feeds."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from django.core.exceptions import ValidationError
from django.db import transaction

from chat.checks import missing_settings
from chat.discord.api import ApiRefused, ask_bot
from chat.guilds.account import ensure_account
from chat.guilds.feeds import checked_channel
from chat.guilds.shared import locked_settings, shared_feed
from chat.guilds.taken_over import resume_feed, take_feed, take_guild_feed, why_not_taken
from chat.models import BotFeed, Guild, GuildFeed
from common.admin.refusals import refusal_sentence
from common.ports.channels import InvalidDestination, ParsedDestination
from common.refused import Refused
from common.text import pluralize
from feedletter_site.migrate_from.again import FEED, gone_lines, mark_sent, waiting_titles
from feedletter_site.migrate_from.cordfeeder.rows import NAMED, Address, ServerFeed, read_rows, understood
from feedletter_site.migrate_from.source import Origins, Plan, Source, TakenMeanwhile
from feedletter_site.models import Origin
from feeds.adding.add import new_feed
from feeds.adding.known import sent_ids, waiting_among
from feeds.models import Feed, Item
from feeds.polling.read import FetchResult
from migrate_from.records import ImportResult, Line, Options

SERVER_FEED = "server feed"
ELSEWHERE = "That channel isn’t in this server."
RUNS_STILL = timedelta(minutes=15)
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
        addresses, refused = understood(read_rows(Path(place)), now=now)
        notes = list(CHANGES_FOR_ALL)
        last = max((one.read_until for one in addresses if one.read_until), default=None)
        if last is not None:
            notes.insert(0, _about_last_look(last, now))
        channels: dict[int, ParsedDestination | str] = {}
        keys = [each.old_key for one in addresses for each in one.feeds]
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


@dataclass(slots=True)
class AddressPart:
    """`channels` caches Discord's answers for all parts."""

    address: Address
    channels: dict[int, ParsedDestination | str] = field(repr=False)

    def preview(self, origins: Origins, *, now: datetime) -> Sequence[Line]:
        lines, free = self._known_and_free(origins)
        for one in free:
            words, why = f"Continues in channel {one.channel_id}.", _foreseen(one)
            fate = ImportResult.REFUSED if why else ImportResult.TAKEN
            lines.append(Line(fate, "server's feed", one.name, why or words))
        if any(line.fate is ImportResult.TAKEN for line in lines) or origins.find(FEED, self.address.old_key):
            sent = sum(post.was_sent for post in self.address.posts)
            lines.append(self._about_feed(f"{pluralize(sent, 'post')} that it had sent are marked."))
            lines += self._differences()
        return lines

    def take(self, origins: Origins, *, now: datetime) -> Sequence[Line]:
        """Check the channels, create the feed paused, then its servers, then resume it."""
        lines, free = self._known_and_free(origins)
        ready: list[tuple[ServerFeed, ParsedDestination]] = []
        for one in free:
            place = self._channel(one)
            if isinstance(place, str):
                lines.append(Line(ImportResult.REFUSED, "server's feed", one.name, place))
            else:
                ready.append((one, place))
        origin = origins.find(FEED, self.address.old_key)
        if not ready and origin is None:
            return lines
        try:
            feed, marked = self._take_feed(origins, now)
        except (Refused, ValidationError) as error:
            why = refusal_sentence(error)
            return [
                *lines,
                *(Line(ImportResult.REFUSED, "server's feed", one.name, why) for one, _place in ready),
            ]
        for one, place in ready:
            lines += self._take_server_feed(one, place, feed, origins, now)
        with transaction.atomic():
            origin = origins.find(FEED, self.address.old_key)
            if origin is not None and origin.finished_at is None:
                resume_feed(feed, now=now)
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
        self, origins: Origins, answer: FetchResult, *, now: datetime
    ) -> tuple[Feed, Mapping[int, str]]:
        _lines, free = self._known_and_free(origins)
        feed, _marked = self._take_feed(origins, now)
        if not free:
            return feed, waiting_titles(feed)
        waiting = dict(Item.objects.unassigned().filter(feed=feed, held_at=None).values_list("pk", "title"))
        # Posts that all its servers got are not sent.
        had = [set(waiting_among(feed=feed, posts=one.posts)) for one in free]
        return feed, {pk: title for pk, title in waiting.items() if any(pk not in keys for keys in had)}

    def _known_and_free(self, origins: Origins) -> tuple[list[Line], list[ServerFeed]]:
        lines, free = [], []
        there: set[tuple[int, int]] = set()
        for one in self.address.feeds:
            origin, place = origins.find(SERVER_FEED, one.old_key), (one.guild_id, one.channel_id)
            if origin is not None:
                lines.append(Line(ImportResult.THERE, "server's feed", one.name, _since_then(one, origin)))
            elif place in there:
                why = "Another URL of the same feed already posts in that channel."
                lines.append(Line(ImportResult.REFUSED, "server's feed", one.name, why))
            elif why := why_not_taken(guild_id=one.guild_id, url=one.url, channel_id=one.channel_id):
                lines.append(Line(ImportResult.REFUSED, "server's feed", one.name, why))
            else:
                free.append(one)
            there.add(place)
        return lines, free

    def _channel(self, one: ServerFeed) -> ParsedDestination | str:
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
        feed, marked = take_feed(
            url=address.url,
            title=address.title,
            posts=address.posts,
            read_from=address.read_from,
            read_until=address.read_until,
            sender=CordFeeder.name,
            now=now,
            taken=self._taken(origin),
        )
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
            origin = origins.find(SERVER_FEED, one.old_key)
            if origin and (here := GuildFeed.objects.present().filter(pk=origin.row).first()):
                sent[here.subscribable_id] = sent_ids(one.posts)
        mark_sent(feed, sent, sender=CordFeeder.name, now=now)

    def _take_server_feed(
        self, one: ServerFeed, place: ParsedDestination, feed: Feed, origins: Origins, now: datetime
    ) -> Iterator[Line]:
        try:
            with transaction.atomic():
                made = take_guild_feed(
                    guild_id=one.guild_id,
                    wanted_number=one.number,
                    feed=feed,
                    title=one.title or feed.title or one.url,
                    to=place,
                    posts=one.posts,
                    added_by=one.added_by,
                    added_at=one.created_at,
                    now=now,
                )
                origins.note(SERVER_FEED, one.old_key, made.pk, now=now, finished=True)
        except TakenMeanwhile:
            yield Line(ImportResult.THERE, "server's feed", one.name, "Another run has just imported it.")
        except (InvalidDestination, ValidationError) as error:
            yield Line(ImportResult.REFUSED, "server's feed", one.name, refusal_sentence(error))
        else:
            words = f"Continues in channel {one.channel_id}, with the number {made.number}."
            yield Line(ImportResult.TAKEN, "server's feed", one.name, words)
            if made.number != one.number:
                words = (
                    f"Its number was {one.number}, which another feed of the server has: now {made.number}."
                )
                yield Line(ImportResult.CHANGED, "server's feed", one.name, words)

    def _about_feed(self, words: str) -> Line:
        servers = len({one.guild_id for one in self.address.feeds})
        return Line(ImportResult.TAKEN, "feed", self.address.url, f"{pluralize(servers, 'server')}. {words}")

    def _differences(self) -> Iterator[Line]:
        for one, guids in self.address.differences():
            named = ", ".join(guid[:100] for guid in guids[:NAMED]) + (" …" if len(guids) > NAMED else "")
            words = f"{pluralize(len(guids), 'post')} that another server got will not come here: {named}"
            yield Line(ImportResult.CHANGED, "posts", one.name, words)


def _about_last_look(last: datetime, now: datetime) -> str:
    if now - last < RUNS_STILL:
        ago = pluralize((now - last) // timedelta(minutes=1), "minute")
        return f"CordFeeder read a feed {ago} ago. If it runs still, stop it: both would post."
    return (
        f"By this file CordFeeder read a feed last on {last:%Y-%m-%d at %H:%M} UTC. Did it run after that?"
        " Then take the file that it left when it was stopped: what it posted since would come twice."
    )


def _foreseen(one: ServerFeed) -> str:
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


def _since_then(one: ServerFeed, origin: Origin) -> str:
    here = GuildFeed.objects.filter(pk=origin.row).first()
    if here is None or here.removed_at is not None:
        return "It was imported before and then removed here."
    if here.channel_id != one.channel_id:
        return (
            f"CordFeeder posts it in channel {one.channel_id} now, and here it stays in {here.channel_id}:"
            f" `/feed move {here.number}` moves it."
        )
    return f"It has the number {here.number}."
