"""What commands say about an issue, and the arguments that name one: the names of docs and programs."""

from argparse import ArgumentTypeError
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice
from typing import Any

from django.core.management.base import CommandParser
from django.db.models import QuerySet

from common.cli.arguments import find, whole
from delivery.issues import progress
from delivery.models import Delivery, Issue
from delivery.rules.progress import arrived, total, waiting

COUNTED_AT_ONCE = 200


def issues() -> "QuerySet[Issue]":
    """Issues with their newsletters, without their letters."""
    return Issue.objects.select_related("subscribable").defer("html", "text", "placeholders")


def add_issue(parser: CommandParser) -> None:
    parser.add_argument("id", type=whole, metavar="ID", help="The number that “list_issues” shows.")


def find_issue(pk: int) -> Issue:
    found: Issue = find(issues(), "issue", "“list_issues” shows those there are.", pk=pk)
    return found


def moment(text: str) -> datetime:
    """An argument: a time with its offset, such as 2026-03-01T07:00+01:00."""
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        read = None
    if read is None or read.tzinfo is None:
        raise ArgumentTypeError("give a time with its offset, such as 2026-03-01T07:00+01:00.")
    return read


def issue_row(issue: Issue, counts: Counter[str]) -> dict[str, Any]:
    """Needs the newsletter selected."""
    return {
        "id": issue.pk,
        "newsletter": issue.subscribable.name,
        "title": issue.title,
        "state": progress.issue_state(issue, counts),
        "created_at": issue.created_at,
        "release_at": issue.release_at if issue.published_at is None else None,
        "published_at": issue.published_at,
        "recipients": total(counts),
        "arrived": arrived(counts),
        "waiting": waiting(counts),
        "held": counts["held"],
        "failed": counts["failed"],
        "cancelled": counts["cancelled"],
    }


def issue_rows(rows: Iterable[Issue]) -> Iterator[dict[str, Any]]:
    """The rows of any number of issues, counted in batches."""
    left = iter(rows)
    while chunk := list(islice(left, COUNTED_AT_ONCE)):
        counts = progress.counts_of(row.pk for row in chunk)
        yield from (issue_row(row, counts[row.pk]) for row in chunk)


def changed_row(pk: int) -> dict[str, Any]:
    """The row of an issue that was just changed."""
    progress.forget(pk)
    issue = find_issue(pk)
    return issue_row(issue, progress.counts(issue))


def in_full(issue: Issue) -> dict[str, Any]:
    """An issue's row with every state and what came back."""
    counts, back = progress.counts(issue), progress.bounced(issue)
    row = issue_row(issue, counts)
    return {
        **row,
        "subject": issue.subject,
        "period_start": issue.period_start,
        "period_end": issue.period_end,
        "paused_at": issue.paused_at,
        "paused_reason": issue.paused_reason,
        "cancelled_at": issue.cancelled_at,
        "newsletter_paused": issue.subscribable.sending_paused_reason
        if issue.subscribable.sending_paused_at
        else None,
        **{state: counts[state] for state in Delivery.State.values},
        "bounced": sum(back.values()),
    }
