"""Indiekit's Microsub reader (@rmdes/indiekit-endpoint-microsub), whose data are in MongoDB."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from common.optional_apps import is_on
from common.refused import Refused
from common.text import pluralize
from feedletter_site.migrate_from.again import gone_lines
from feedletter_site.migrate_from.follows import FollowPart, UnfollowedPart
from feedletter_site.migrate_from.readers import (
    CHANNEL,
    FEED,
    ChannelsPart,
    Move,
    MutesPart,
    NotificationsPart,
)
from feedletter_site.migrate_from.source import Origins, Part, Plan, Source
from migrate_from.microsub.files import ITEMS, Export, channels_of, follows_of, read_export
from migrate_from.records import ImportResult, Line, OldChannel, Options, Question, Undecided
from reader.indieauth.discovery import profile_of
from reader.models import Follow, Reader
from reader.rules.identity import same_profile

# The person in an installation for one.
DEFAULT = "default"
NOTES = (
    "Your app needs the new address of the endpoint: your page’s rel=microsub names it. Channels keep their"
    " uids.",
    "Posts are cleaned anew. Read ones are kept as long as READER_KEEP_READ_DAYS says, unread ones as long as"
    " READER_KEEP_UNREAD_DAYS says.",
    "Posts that it had forgotten, and that are older than the newest one that it knew, will be read.",
    "Muted and blocked authors were never hidden there. Here they are.",
    "Colours of channels, WebSub subscriptions and reading intervals aren’t imported: feeds are read as often"
    " as they publish.",
)

MOST_PEOPLE = 200
_ORPHANS = Question(
    "orphans", "Channels that belong to nobody", [("", "Don’t import them"), ("yes", "Import them, too")]
)


class Microsub(Source):
    key = "microsub"
    name = "Indiekit (Microsub)"
    file_help = (
        "A zip of its collections in MongoDB, exported with mongoexport or mongodump, or an archive of"
        " mongodump: docs/coming-from/indiekit.md has the commands."
    )
    needs_reader = True

    def read(self, place: str, *, options: Options, now: datetime) -> Plan:
        """Raises Refused and Undecided."""
        if not is_on("reader"):
            raise Refused("The reader is switched off. Set READER to another value first.")
        export = read_export(Path(place))
        row = _reader_called(options.reader)
        channels = channels_of(export)
        orphans = [_ORPHANS] if any(not one.owner for one in channels) else []
        owners, questions = _owners(channels, row, options.user, orphans)
        wanted = [one for one in channels if one.owner in owners or (options.orphans and not one.owner)]
        wanted.sort(key=lambda one: one.order)
        move = Move(row, owners, export, {one.key: one for one in wanted}, now)
        refused = [line for one in channels if one not in wanted for line in _refused(one, export)]
        parts: list[Part] = [ChannelsPart(move, wanted)]
        known = {one.key for one in channels}
        followed: set[tuple[str, str]] = set()
        for feed in follows_of(export):
            followed.add((feed.channel, feed.key))
            if feed.channel in move.channels:
                parts.append(FollowPart(move, feed))
            elif feed.channel not in known:
                why = "Its channel isn’t in the export. Follow it again in the reader."
                refused.append(Line(ImportResult.REFUSED, "feed", feed.title or feed.key, why))
        lost = 0
        for channel, key in export.items:
            if channel in move.channels and (channel, key) not in followed:
                parts.append(UnfollowedPart(move, move.channels[channel], key))
            elif channel not in known:
                lost += export.items.count((channel, key))
        if lost:
            why = "Their channels aren’t in the export."
            refused.append(Line(ImportResult.REFUSED, "posts", pluralize(lost, "post"), why, count=lost))
        parts.append(NotificationsPart(move))
        parts.append(MutesPart(move))
        notes = [f"It is imported for the reader {row}.", *NOTES]
        if ITEMS in export.lacking:
            notes.insert(1, "The export has no posts (microsub_items): feeds begin as if newly followed.")
        keys = [move.key(feed.key) for feed in follows_of(export)]

        def gone(origins: Origins) -> Iterator[Line]:
            own, prefix = [move.key(key) for key in known], move.key("")
            yield from gone_lines(origins, CHANNEL, own, row.channels.all(), prefix=prefix)
            yield from gone_lines(origins, FEED, keys, Follow.objects.of(row), prefix=prefix, key="feed")

        return Plan(parts, refused, notes, questions=questions, gone=gone)


def _reader_called(name: str) -> Reader:
    """Raises Refused."""
    row = Reader.objects.select_related("user").filter(slug=name, leaving_at=None).first()
    if row is not None:
        return row
    names = ", ".join(Reader.objects.filter(leaving_at=None).values_list("slug", flat=True)[:20])
    there = f"Readers: {names}." if names else "Add one first, with add_reader."
    asked = f"There is no reader “{name}”." if name else "Name the reader to import for, with --reader NAME."
    raise Refused(f"{asked} {there}")


def _owners(
    channels: Sequence[OldChannel], reader: Reader, user: str, orphans: Sequence[Question]
) -> tuple[frozenset[str], Sequence[Question]]:
    """Return the user's ids there, and what to ask. Raises Refused, and Undecided about several people."""
    people = {one.owner for one in channels if one.owner} - {DEFAULT}
    choices = [(one, one) for one in sorted(people)[:MOST_PEOPLE]]
    whose = [Question("user", "Import the channels of", choices)] if len(choices) > 1 else []
    questions = [*whose, *orphans]
    if user:
        people = {one for one in people | {DEFAULT} if one == user or same_profile(one, user)}
        if not people:
            raise Refused(f"No channel belongs to {user}.")
    own = {
        one for one in people if any(same_profile(one, me) for me in (reader.me, profile_of(reader)) if me)
    }
    people = own or people
    if len(people) > 1:
        names = ", ".join(sorted(people)[:10])
        words = f"The channels belong to several people: {names}. Say whose to import, with --user."
        raise Undecided(words, questions)
    return frozenset(people | {DEFAULT}), questions


def _refused(channel: OldChannel, export: Export) -> list[Line]:
    why = f"It belongs to {channel.owner}. Import it for another reader, with --user."
    if not channel.owner:
        why = (
            "It belongs to nobody: its userId is empty. Import it, too, with --orphans, or with “Answer"
            " questions” in the admin."
        )
    own = [Line(ImportResult.REFUSED, "channel", channel.name, why)]
    return own + [
        Line(
            ImportResult.REFUSED,
            "feed",
            feed.title or feed.key,
            f"Its channel “{channel.name}” isn’t imported.",
        )
        for feed in follows_of(export)
        if feed.channel == channel.key
    ]
