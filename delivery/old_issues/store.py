"""Old issues: stored in the archive, and removed again. Nothing is sent, and no event is emitted."""

import hashlib
import logging
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from django.db import transaction

from common.html.balance import MAX_HTML
from common.html.clean import clean, plain
from common.ports import channels
from common.refused import Refused
from common.text import pluralize, shortened, without_controls
from delivery.issues.cards import card_of
from delivery.models import Issue, IssueImport, IssueImportLine, IssueImportPicture, IssueItem
from delivery.old_issues.pictures import KeptHtml, PictureKeeper
from delivery.rules.audience import Audience
from delivery.rules.old_issues.found import EMPTY, Found, OldIssue, Wanted
from delivery.rules.old_issues.reading import opened_export
from feeds.parsing.entry import Entry
from subscriptions.models import Picture, Subscribable

log = logging.getLogger(__name__)

# Collections have numbers or times here.
KEYS = "old-"
PRIVATE_HERE = "Private: only the admin shows it."
LONGEST_TITLE = 300
DELETED_AT_ONCE = 100
Result = IssueImportLine.Result


@dataclass(frozen=True, slots=True)
class Line:
    result: str
    title: str
    at: datetime | None
    words: str = ""


@dataclass(frozen=True, slots=True)
class Prepared:
    """Issue whose text was read, cleaned, and freed of foreign pictures."""

    entry: Entry
    words: str


def refuse_without_archive(subscribable: Subscribable) -> None:
    """Raises Refused for a bridge."""
    if not channels.get(subscribable.channel).public_sign_up:
        raise Refused(f"“{subscribable}” is a bridge. Only newsletters have an archive.")


@contextmanager
def opened(row: IssueImport, path: Path, *, now: datetime) -> Iterator[Found]:
    """Yield the issues of an export. Raises Refused."""
    wanted = Wanted(row.subscribable.zone, now, row.address, row.with_paid, row.with_private)
    with opened_export(path, wanted) as found:
        yield found


def refused_lines(found: Found) -> list[Line]:
    return [Line(Result.REFUSED, each.title, each.at, each.why) for each in found.refused]


def preview(row: IssueImport, found: Found) -> list[Line]:
    """Return what would be done, without reading texts."""
    old = Issue.objects.filter(subscribable=row.subscribable, within_type_id__startswith=KEYS).order_by()
    there = set(old.values_list("within_type_id", flat=True))
    return [
        Line(Result.THERE if key_of(issue) in there else Result.TAKEN, issue.title, issue.at, _notes(issue))
        for issue in found.issues
    ]


def _notes(issue: OldIssue) -> str:
    return " ".join(filter(None, [issue.note, PRIVATE_HERE if issue.is_private else ""]))


def key_of(issue: OldIssue) -> str:
    return f"{KEYS}{hashlib.sha256(issue.key.encode()).hexdigest()[:40]}"


def is_there(row: IssueImport, issue: OldIssue) -> bool:
    return Issue.objects.filter(subscribable=row.subscribable, within_type_id=key_of(issue)).exists()


def prepare(row: IssueImport, issue: OldIssue, keeper: PictureKeeper | None) -> Prepared:
    """Read and clean an issue's text, and fetch its pictures. Uses the network. Raises Refused."""
    try:
        raw = issue.read()
        kept = KeptHtml(clean(raw, base=row.address), 0)
    except Refused:
        raise
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        log.exception("an old issue could not be read: %s", issue.key)
        raise Refused("Its text can’t be read.") from error
    if keeper is not None:
        kept = keeper.kept(kept.html)
    if not plain(kept.html) and "<img" not in kept.html:
        raise Refused(EMPTY)
    words = [
        _notes(issue),
        f"Not copied, and still at the old address: {pluralize(kept.linked, 'picture')}."
        if kept.linked
        else "",
        f"Cut after {MAX_HTML:,} characters." if len(raw) > MAX_HTML else "",
    ]
    title = shortened(without_controls(issue.title), LONGEST_TITLE)
    entry = Entry(guid=key_of(issue), title=title, content=kept.html, published=issue.at)
    return Prepared(entry, " ".join(filter(None, words)))


def store(row: IssueImport, issue: OldIssue, prepared: Prepared, *, now: datetime) -> Line:
    """Store an issue unless it is there, in the caller's transaction."""
    entry = prepared.entry
    # As if it had been sent long ago, and its emails deleted: no stage has anything to do with it.
    values = {
        "token": secrets.token_hex(12),
        "title": entry.title,
        "subject": entry.title,
        "created_at": issue.at,
        "published_at": issue.at,
        "finished_at": issue.at,
        "pruned_at": now,
        "issue_import": row,
        # On no page, in no feed and no search, whatever becomes of the newsletter.
        "audience": Audience(any_of={0: f"private in {row.program}"}).to_json() if issue.is_private else {},
    }
    about = {"subscribable": row.subscribable, "within_type_id": entry.guid}
    stored, is_new = Issue.objects.get_or_create(**about, defaults=values)
    if not is_new:
        return Line(Result.THERE, issue.title, issue.at)
    IssueItem.objects.create(issue=stored, position=0, entry=entry.to_json())
    card_of(stored, [entry]).save(force_insert=True)
    return Line(Result.CHANGED if prepared.words else Result.TAKEN, issue.title, issue.at, prepared.words)


def keep_lines(row: IssueImport, lines: Sequence[Line]) -> None:
    """PostgreSQL stores no NUL."""
    IssueImportLine.objects.bulk_create(
        IssueImportLine(
            upload=row,
            result=line.result,
            title=shortened(without_controls(line.title), LONGEST_TITLE),
            at=line.at,
            words=without_controls(line.words),
        )
        for line in lines
    )


def delete_batch(row: IssueImport) -> int:
    """Delete some of an import's issues. Return how many."""
    with transaction.atomic():
        pks = list(row.issues.order_by("pk").values_list("pk", flat=True)[:DELETED_AT_ONCE])
        Issue.objects.filter(pk__in=pks, issue_import=row).delete()
    return len(pks)


def delete_pictures(row: IssueImport) -> None:
    """Delete the pictures that only this import needs, and that it brought."""
    names = set(row.pictures_kept.exclude(picture=None).values_list("picture", flat=True))
    others = IssueImportPicture.objects.filter(picture__in=names).exclude(upload=row)
    names -= set(others.values_list("picture", flat=True))
    with transaction.atomic():
        row.pictures_kept.all().delete()
        Picture.objects.filter(pk__in=names, created_at__gte=row.created_at).delete()
