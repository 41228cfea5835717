from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from common.cli.commands import FeedletterCommand, Printed, Result, argument, find, table_lines, whole
from common.clock import utcnow
from common.text import pluralize
from delivery.models import IssueImport
from delivery.old_issues import store
from delivery.old_issues.worker import State, import_file, undo_now
from subscriptions.management.options import add_newsletter, find_subscribable


class ImportIssues(FeedletterCommand):
    help = (
        "Imports old issues from Substack, Ghost, WordPress, beehiiv, Mailchimp, Buttondown or listmonk into"
        " a newsletter’s archive. Nothing is sent, and nothing is imported twice."
    )
    arguments = (
        add_newsletter,
        argument("file", metavar="FILE", nargs="?", help="The file that the other program made."),
        argument(
            "--pictures",
            choices=IssueImport.Pictures.values,
            default=IssueImport.Pictures.KEEP,
            help="Copy pictures to this site, or link to their old addresses.",
        ),
        argument(
            "--address", default="", metavar="URL", help="The old site’s address, which Ghost leaves out."
        ),
        argument("--with-paid", action="store_true", help="Import issues for paying subscribers, too."),
        argument(
            "--with-private",
            action="store_true",
            help="Import private issues, too, such as those for members. Only the admin shows them.",
        ),
        argument("--dry-run", action="store_true", help="Say what it would do; change nothing."),
        argument("--undo", type=whole, metavar="ID", help="Delete the issues that this import brought."),
    )

    def run(self, **options: Any) -> Result:
        subscribable = find_subscribable(options["newsletter"])
        if (options["file"] is None) == (options["undo"] is None):
            raise CommandError("Give a file, or --undo with the number of an import.")
        if options["undo"] is not None:
            rows = IssueImport.objects.filter(subscribable=subscribable)
            count = undo_now(
                find(rows, "import", "The admin’s page of imports shows them.", pk=options["undo"])
            )
            return Printed(f"{pluralize(count, 'issue')} deleted.", {"deleted": count})
        store.refuse_without_archive(subscribable)
        path = Path(options["file"])
        if not path.is_file():
            raise CommandError(f"{path} can’t be read: there is no such file.")
        row = IssueImport(
            subscribable=subscribable,
            file_name=path.name[:200],
            # Stopped until it ends, so that the issues of a killed command can be undone.
            state=State.STOPPED,
            begun_at=utcnow(),
            ended_at=utcnow(),
            pictures=options["pictures"],
            address=options["address"],
            with_paid=options["with_paid"],
            with_private=options["with_private"],
        )
        if options["dry_run"]:
            with store.opened(row, path, now=utcnow()) as found:
                lines = [*found.refused, *store.preview(row, found)]
            return _printed(lines, found.program, {"dry_run": True}, "Nothing was changed.")
        with self.progress("importing issues") as progress:

            def tell(done: int, total: int) -> None:
                progress.done, progress.total = done, total

            import_file(row, path, told=tell)
        last = f"Nothing was sent. To undo it: import_issues {subscribable.name} --undo {row.pk}"
        return _printed(row.lines.order_by("pk"), row.program, {"dry_run": False, "import": row.pk}, last)


def _printed(lines: Iterable[Any], program: str, about: dict[str, Any], last: str) -> Printed:
    rows = [
        {"result": line.result, "issue": line.title, "sent": line.at, "note": line.words} for line in lines
    ]
    counts = {result: sum(line.result == result for line in lines) for result in store.Result.values}
    said = ", ".join(f"{count:,} {store.Result(result).label}" for result, count in counts.items() if count)
    table = table_lines(rows) if rows else ["There are no issues in it."]
    facts = {"program": program, **about, "counts": counts, "issues": rows}
    return Printed("\n".join([f"From {program}: {said or 'nothing'}.", *table, last]), facts)
