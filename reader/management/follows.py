from functools import partial
from typing import Any

from django.core.management.base import CommandError

from common.cli.commands import (
    OUTPUT,
    FeedletterCommand,
    Printed,
    Result,
    argument,
    positive,
    shown_fields,
    whole,
)
from common.clock import utcnow
from common.text import pluralize
from feeds.management.opml import read
from reader.channels.channels import NoSuchChannel, alter_channel, channel_named, channel_of
from reader.channels.filters import change_filters
from reader.channels.follows import follow_address, unfollow
from reader.channels.opml import export_follows, follow_listed, keep_list, report_of
from reader.entries.place import place_due
from reader.models import Channel, FollowLine, Reader, TimelineEntry
from reader.models import Follow as FollowRow
from reader.resources import readers
from reader.rules.jf2 import KINDS
from reader.rules.order import DEFAULT_LIMIT, PageRequest
from reader.timelines.pages import Timeline, page_of

name_argument = argument("name", metavar="NAME", help="The reader.")
filter_argument = partial(argument, action="append", default=[])


def found_channel(reader: Reader, name: str) -> Channel:
    by_name = reader.channels.filter(name=name).first()
    try:
        return by_name or channel_of(reader, name)
    except NoSuchChannel as error:
        names = ", ".join(reader.channels.values_list("name", flat=True))
        raise CommandError(f"{reader} has no channel {name}. Channels: {names}.") from error


def wanted_channel(reader: Reader, name: str) -> Channel:
    """Return a channel by uid or name, created if missing. Raises Refused."""
    there = reader.channels.filter(uid=name).first()
    return there or channel_named(reader, name)


def channel_row(channel: Channel) -> dict[str, Any]:
    return shown_fields(channel, "uid name unread_mode keep_days layout filters")


def follow_row(follow: FollowRow) -> dict[str, Any]:
    return {
        "channel": follow.channel.name,
        "feed": follow.feed_id,
        "url": follow.feed.url,
        "title": follow.name or follow.feed.title,
        "status": follow.feed.health,
        "added_at": follow.added_at,
    }


def entry_row(place: TimelineEntry, *, is_read: bool) -> dict[str, Any]:
    post = place.entry.jf2 or {}
    return {
        "id": place.pk,
        "channel": place.channel.name,
        "at": place.at,
        "read": is_read,
        "kind": place.entry.kind,
        "title": post.get("name") or post.get("content", {}).get("text", "")[:100],
        "url": post.get("url", ""),
    }


class ListFollows(FeedletterCommand):
    help = "List the feeds that someone follows."
    empty = "No feeds are followed there. Start with: follow NAME https://example.org"
    arguments = (name_argument, argument("--channel", help="Only this channel."))

    def run(self, **options: Any) -> Result:
        reader = readers.find(options["name"])
        rows = FollowRow.objects.of(reader).select_related("channel", "feed")
        if options["channel"] is not None:
            rows = rows.filter(channel=found_channel(reader, options["channel"]))
        return map(follow_row, rows.order_by("channel__position", "channel", "pk").iterator())


class Follow(FeedletterCommand):
    help = "Follow a feed, or the best feed of a page. The next poll reads it."
    option_names = {"url": "URL", "channel": "--channel"}  # noqa: RUF012
    arguments = (
        name_argument,
        argument("url", metavar="URL", help="A feed, or a page that has one."),
        argument(
            "--channel",
            default="home",
            help="Name or uid of the channel, created if it doesn’t exist. Default: Home.",
        ),
    )

    def run(self, **options: Any) -> Result:
        channel = wanted_channel(readers.find(options["name"]), options["channel"])
        with self.progress("looking for feeds"):
            follow, _ = follow_address(channel=channel, url=options["url"])
        return follow_row(follow)


class Unfollow(FeedletterCommand):
    help = "Stop following a feed. Posts that have already arrived are kept."
    arguments = (
        name_argument,
        argument("feed", type=whole, metavar="FEED", help="Number of the feed, as shown by list_follows."),
        argument("--channel", help="Only in this channel. Default: in every channel."),
    )

    def run(self, **options: Any) -> Result:
        reader = readers.find(options["name"])
        follows = FollowRow.objects.filter(channel__reader=reader, feed=options["feed"])
        if options["channel"] is not None:
            follows = follows.filter(channel=found_channel(reader, options["channel"]))
        rows = list(follows.select_related("channel", "feed"))
        if not rows:
            raise CommandError(f"{reader} doesn’t follow feed {options['feed']} there.")
        for row in rows:
            unfollow(channel=row.channel, feed=row.feed, now=utcnow())
        where = pluralize(len(rows), "channel")
        return Printed(f"{rows[0].feed} is no longer followed in {where}.", {"channels": len(rows)})


class Place(FeedletterCommand):
    help = "Put new posts into the channels that follow their feeds."

    def run(self, **options: Any) -> Result:
        with self.progress("placing"):
            placed = place_due()
        return Printed(f"{pluralize(placed, 'post')} updated.", {"placed": placed})


class AlterChannel(FeedletterCommand):
    help = "Change a channel."
    arguments = (
        name_argument,
        argument("channel", metavar="CHANNEL", help="Name or uid of the channel."),
        argument("--unread", choices=Channel.UnreadMode.values, help="How apps show unread posts."),
        argument(
            "--keep-days",
            type=whole,
            metavar="N",
            help="Delete posts after this many days. 0 uses the site’s setting.",
        ),
        argument("--layout", choices=Channel.Layout.values, help="How the channel’s page shows posts."),
        filter_argument("--hide-kind", dest="kinds", choices=KINDS, help="Hide these kinds of posts."),
        filter_argument(
            "--hide", metavar="TERM", help="Hide posts that match one of these words or a /pattern/."
        ),
        filter_argument("--keep", metavar="TERM", help="Hide posts that match none of these words."),
        argument("--no-filters", action="store_true", help="Remove all filters."),
    )

    def run(self, **options: Any) -> Result:
        channel = found_channel(readers.find(options["name"]), options["channel"])
        names = {"unread_mode": "unread", "keep_days": "keep_days", "layout": "layout"}
        # No days: the settings' retention.
        changes = {to: options[name] or None for to, name in names.items() if options[name] is not None}
        filters = {name: options[name] for name in ("kinds", "hide", "keep")}
        if not changes and not any(filters.values()) and not options["no_filters"]:
            raise CommandError("Name at least one change: --unread, --keep-days, --layout or filters.")
        if changes:
            channel = alter_channel(channel=channel, **changes)
        if any(filters.values()) or options["no_filters"]:
            with self.progress("testing the filters on existing posts"):
                channel = change_filters(channel=channel, at_once=None, **filters)
        return channel_row(channel)


class ListEntries(FeedletterCommand):
    help = "List someone’s posts, newest first."
    empty = "No posts found. “poll” reads feeds that are due, and “place” puts their posts into channels."
    arguments = (
        name_argument,
        argument("--channel", help="Only this channel."),
        argument("--unread", action="store_true", help="Only unread posts."),
        argument("--limit", type=positive, default=DEFAULT_LIMIT, help="Maximum number of posts."),
    )

    def run(self, **options: Any) -> Result:
        reader = readers.find(options["name"])
        named = options["channel"]
        timeline = Timeline(reader, found_channel(reader, named) if named is not None else None)
        page = page_of(timeline, PageRequest(limit=options["limit"]), unread_only=options["unread"])
        return (entry_row(place, is_read=place.pk not in page.unread) for place in page.places)


class ImportFollows(FeedletterCommand):
    help = (
        "Follow the feeds in an OPML file; folders and categories become channels. Or take starred and read"
        " posts from JSON or zip files of FreshRSS, Feedbin or Inoreader."
    )
    arguments = (
        name_argument,
        argument("file", metavar="FILE", help="“-” reads standard input."),
        argument(
            "--channel",
            default="home",
            help="Channel for feeds in no folder, created if it doesn’t exist. Default: Home.",
        ),
    )

    def run(self, **options: Any) -> Result:
        reader = readers.find(options["name"])
        channel = wanted_channel(reader, options["channel"])
        kept = keep_list(reader=reader, body=read(options["file"]), channel=channel, now=utcnow())
        with self.progress("following feeds", total=kept.lines.count()) as progress:
            follow_listed(kept, told=progress.advance)
        report = report_of(kept)
        refused = list(kept.lines.filter(outcome=FollowLine.Outcome.REFUSED))
        lines = [
            f"{pluralize(report.followed, 'feed')} followed, {report.known:,} followed already,"
            f" {report.refused:,} refused."
        ]
        if report.posts or report.known_posts:
            known = f" {report.known_posts:,} were here already." if report.known_posts else ""
            lines.append(f"{pluralize(report.posts, 'saved post')} imported.{known}")
        if kept.is_broken:
            lines.append("The file isn’t well-formed XML. It was read up to the error.")
        if report.waiting:
            lines.append(f"A worker is importing {report.waiting:,} now.")
        lines += [
            f"Line {line.line}: {f'{line.name}: ' if line.name else ''}{line.reason}" for line in refused
        ]
        facts = {
            "followed": report.followed,
            "known": report.known,
            "posts": report.posts,
            "refused": [
                {"line": line.line, "title": line.name, "url": line.url, "reason": line.reason}
                for line in refused
            ],
            "waiting": report.waiting,
        }
        return Printed("\n".join(lines), facts)


class ExportFollows(FeedletterCommand):
    help = "Export the followed feeds as OPML 2.0, with one folder per channel and without passwords."
    arguments = (name_argument, OUTPUT)

    def run(self, **options: Any) -> Result:
        reader = readers.find(options["name"])
        if options["json"]:
            rows = FollowRow.objects.of(reader).select_related("channel", "feed")
            return map(follow_row, rows.order_by("channel__position", "channel", "pk").iterator())
        lines = export_follows(reader, now=utcnow())
        self.write_out(lambda file: file.writelines(lines), options["output"])
        return None
