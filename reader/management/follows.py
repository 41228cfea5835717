from typing import Any

from django.core.management.base import CommandError

from common.cli.arguments import argument, positive, whole
from common.cli.commands import OUTPUT, FeedletterCommand, Printed, Result
from common.clock import utcnow
from common.text import pluralize
from feeds.management.opml import read
from reader.channels.channels import alter_channel
from reader.channels.filters import change_filters
from reader.channels.follows import follow_address, unfollow
from reader.channels.opml import export_follows, follow_listed, keep_list, report_of
from reader.entries.place import place_due
from reader.management.rows import (
    channel_row,
    entry_row,
    follow_row,
    found_channel,
    found_reader,
    wanted_channel,
)
from reader.models import Channel, FollowLine
from reader.models import Follow as FollowRow
from reader.rules.kinds import KINDS
from reader.rules.order import DEFAULT_LIMIT, Stretch
from reader.timelines.pages import Timeline, page_of


class ListFollows(FeedletterCommand):
    help = "Lists what a reader follows."
    empty = "Nothing is followed there. Begin with: follow NAME https://example.org"
    arguments = (
        argument("name", metavar="NAME", help="The reader."),
        argument("--channel", help="Only in this one."),
    )

    def run(self, **options: Any) -> Result:
        reader = found_reader(options["name"])
        rows = FollowRow.objects.of(reader).select_related("channel", "feed")
        if options["channel"] is not None:
            rows = rows.filter(channel=found_channel(reader, options["channel"]))
        return map(follow_row, rows.order_by("channel__position", "channel", "pk").iterator())


class Follow(FeedletterCommand):
    help = "Follows a feed for a reader, or the best feed of a page. It is read as soon as polls get to it."
    option_names = {"url": "URL", "channel": "--channel"}  # noqa: RUF012
    arguments = (
        argument("name", metavar="NAME", help="The reader."),
        argument("url", metavar="URL", help="A feed, or a page that has one."),
        argument("--channel", default="home", help="Its name or uid, made if there is none; left out, Home."),
    )

    def run(self, **options: Any) -> Result:
        channel = wanted_channel(found_reader(options["name"]), options["channel"])
        with self.progress("looking for feeds"):
            followed = follow_address(channel=channel, url=options["url"])
        return follow_row(followed.follow)


class Unfollow(FeedletterCommand):
    help = "Ends a reader’s following a feed. The posts that they have of it stay."
    arguments = (
        argument("name", metavar="NAME", help="The reader."),
        argument("feed", type=whole, metavar="FEED", help="Its number, as list_follows shows it."),
        argument("--channel", help="Only in this one; left out, in every channel."),
    )

    def run(self, **options: Any) -> Result:
        reader = found_reader(options["name"])
        follows = FollowRow.objects.filter(channel__reader=reader, feed=options["feed"])
        if options["channel"] is not None:
            follows = follows.filter(channel=found_channel(reader, options["channel"]))
        rows = list(follows.select_related("channel", "feed"))
        if not rows:
            raise CommandError(f"{reader} does not follow feed {options['feed']} there.")
        for row in rows:
            unfollow(channel=row.channel, feed=row.feed, now=utcnow())
        where = pluralize(len(rows), "channel")
        return Printed(f"{rows[0].feed} is no longer followed in {where}.", {"channels": len(rows)})


class Place(FeedletterCommand):
    help = "Puts what feeds brought into the channels that follow them."

    def run(self, **options: Any) -> Result:
        with self.progress("placing"):
            placed = place_due()
        return Printed(f"{pluralize(placed, 'post')} brought up to date.", {"placed": placed})


class AlterChannel(FeedletterCommand):
    help = "Changes a channel of a reader’s."
    arguments = (
        argument("name", metavar="NAME", help="The reader."),
        argument("channel", metavar="CHANNEL", help="Its name or uid."),
        argument("--unread", choices=Channel.UnreadMode.values, help="How clients show unread posts."),
        argument(
            "--keep-days", type=whole, metavar="N", help="Posts go after so many days; 0: as in the settings."
        ),
        argument("--layout", choices=Channel.Layout.values, help="How its page shows posts."),
        argument(
            "--hide-kind", dest="kinds", action="append", default=[], choices=KINDS, help="Hide these posts."
        ),
        argument(
            "--hide",
            action="append",
            default=[],
            metavar="TERM",
            help="Hide posts with these words, or /pattern/.",
        ),
        argument(
            "--keep", action="append", default=[], metavar="TERM", help="Hide posts with none of these terms."
        ),
        argument("--no-filters", action="store_true", help="Show everything again."),
    )

    def run(self, **options: Any) -> Result:
        channel = found_channel(found_reader(options["name"]), options["channel"])
        changes: dict[str, Any] = {}
        if options["unread"] is not None:
            changes["unread_mode"] = options["unread"]
        if options["keep_days"] is not None:
            changes["keep_days"] = options["keep_days"] or None
        if options["layout"] is not None:
            changes["layout"] = options["layout"]
        filters = {name: options[name] for name in ("kinds", "hide", "keep")}
        if not changes and not any(filters.values()) and not options["no_filters"]:
            raise CommandError("Say what to change: --unread, --keep-days, --layout or filters.")
        if changes:
            channel = alter_channel(channel=channel, **changes)
        if any(filters.values()) or options["no_filters"]:
            with self.progress("asking the filters of what stands there"):
                channel = change_filters(channel=channel, at_once=None, **filters)
        return channel_row(channel)


class ListEntries(FeedletterCommand):
    help = "Lists a reader’s posts, newest first."
    empty = "No post is there. “poll” reads feeds that are due, and “place” puts their posts into channels."
    arguments = (
        argument("name", metavar="NAME", help="The reader."),
        argument("--channel", help="Only in this one."),
        argument("--unread", action="store_true", help="Only what is unread."),
        argument("--limit", type=positive, default=DEFAULT_LIMIT, help="At most this many."),
    )

    def run(self, **options: Any) -> Result:
        reader = found_reader(options["name"])
        named = options["channel"]
        timeline = Timeline(reader, found_channel(reader, named) if named is not None else None)
        page = page_of(timeline, Stretch(limit=options["limit"]), unread_only=options["unread"])
        return (entry_row(place, is_read=place.pk not in page.unread) for place in page.places)


class ImportFollows(FeedletterCommand):
    help = "Follows the feeds of an OPML file for a reader; folders and categories are channels."
    arguments = (
        argument("name", metavar="NAME", help="The reader."),
        argument("file", metavar="FILE", help="“-” reads what is piped in."),
        argument(
            "--channel",
            default="home",
            help="For what is in no folder, made if there is none; left out, Home.",
        ),
    )

    def run(self, **options: Any) -> Result:
        reader = found_reader(options["name"])
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
        if kept.is_broken:
            lines.append("The file is not well-formed XML: it was read as far as it can be.")
        if report.waiting:
            lines.append(f"{report.waiting:,} are being followed by a worker at the moment.")
        lines += [
            f"Line {line.line}: {f'{line.name}: ' if line.name else ''}{line.reason}" for line in refused
        ]
        facts = {
            "followed": report.followed,
            "known": report.known,
            "refused": [
                {"line": line.line, "title": line.name, "url": line.url, "reason": line.reason}
                for line in refused
            ],
            "waiting": report.waiting,
        }
        return Printed("\n".join(lines), facts)


class ExportFollows(FeedletterCommand):
    help = "Writes what a reader follows as OPML 2.0, in a folder for each channel, without passwords."
    arguments = (
        argument("name", metavar="NAME", help="The reader."),
        OUTPUT,
    )

    def run(self, **options: Any) -> Result:
        reader = found_reader(options["name"])
        if options["json"]:
            rows = FollowRow.objects.of(reader).select_related("channel", "feed")
            return map(follow_row, rows.order_by("channel__position", "channel", "pk").iterator())
        lines = export_follows(reader, now=utcnow())
        self.write_out(lambda file: file.writelines(lines), options["output"])
        return None
