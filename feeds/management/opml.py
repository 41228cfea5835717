import sys
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from common.cli.commands import OUTPUT, FeedletterCommand, Printed, Result, argument
from common.clock import utcnow
from common.text import pluralize
from feeds.adding.opml import (
    FEEDS_A_STEP,
    OpmlPlan,
    OpmlReport,
    count_import,
    export_opml,
    import_chunk,
    plan_import,
)
from feeds.management.options import OPTION_NAMES
from feeds.models import Feed
from feeds.parsing.opml import MAX_BYTES, parse_opml
from feeds.resources import feeds as resource
from feeds.tags import feeds_tagged


class ImportOpml(FeedletterCommand):
    help = "Adds the feeds of an OPML file; folders become tags. Feeds that are already here don’t change."
    option_names = OPTION_NAMES
    arguments = (
        argument("file", metavar="FILE", help="“-” reads what is piped in."),
        argument("--tag", action="append", default=[], metavar="TAG", help="Add this tag to all of them."),
        argument("--dry-run", action="store_true", help="Only say what would be done."),
    )

    def run(self, **options: Any) -> Result:
        now = utcnow()
        plan = plan_import(parse_opml(read(options["file"])), tags=options["tag"], now=now)
        report = count_import(plan) if options["dry_run"] else self.take_over(plan)
        facts = {
            "added": report.added,
            "known": report.known,
            "tagged": report.tagged,
            "repeated": plan.repeated,
            "refused": [{"line": one.line, "title": one.title, "reason": one.reason} for one in plan.refused],
            "changed": [{"line": one.line, "title": one.title, "reason": one.reason} for one in plan.changed],
            "dry_run": options["dry_run"],
        }
        return Printed(told(plan, report, dry_run=options["dry_run"]), facts)

    def take_over(self, plan: OpmlPlan) -> OpmlReport:
        report = OpmlReport()
        with self.progress("adding feeds", total=len(plan.outlines)) as progress:
            for begin in range(0, len(plan.outlines), FEEDS_A_STEP):
                report += import_chunk(plan, begin=begin, now=utcnow())
                progress.advance(FEEDS_A_STEP)
        return report


def read(name: str) -> bytes:
    """Read the file up to a byte beyond the limit. Raises CommandError."""
    try:
        if name == "-":
            return sys.stdin.buffer.read(MAX_BYTES + 1)
        with Path(name).open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        raise CommandError(f"{name} cannot be read: {error.strerror}.") from error


def told(plan: OpmlPlan, report: OpmlReport, *, dry_run: bool) -> str:
    would = "would be " if dry_run else ""
    parts = [
        f"{pluralize(report.added, 'feed')} {would}added",
        f"{report.known:,} there already" + (f" ({report.tagged:,} {would}tagged)" if report.tagged else ""),
    ]
    if plan.repeated:
        parts.append(f"{plan.repeated:,} twice in the file")
    lines = [f"{', '.join(parts)}, {len(plan.refused):,} refused."]
    if plan.is_broken:
        lines.append("The file is not well-formed XML: it was read as far as it can be.")
    lines += [
        f"Line {one.line}: {f'{one.title}: ' if one.title else ''}{one.reason}"
        for one in (*plan.refused, *plan.changed)
    ]
    return "\n".join(lines)


class ExportOpml(FeedletterCommand):
    help = "Writes the feeds as OPML 2.0, in a folder for each tag. User names and passwords are left out."
    arguments = (OUTPUT, argument("--tag", metavar="TAG", help="Only feeds with this tag."))

    def run(self, **options: Any) -> Result:
        feeds = Feed.objects.all()
        if options["tag"] is not None:
            feeds = feeds_tagged(feeds, options["tag"])
        if options["json"]:
            return map(resource.shown, feeds.order_by("pk").iterator(chunk_size=1000))
        lines = export_opml(feeds)
        self.write_out(lambda file: file.writelines(lines), options["output"])
        return None
