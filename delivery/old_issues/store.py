"""Old issues: stored in the archive, and removed again. Nothing is sent, and no event is emitted."""

import hashlib
import logging
import re
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from html import escape
from pathlib import Path

from django.db import transaction
from django.db.models import Sum

from common.body_limits import MEGABYTE
from common.html.balance import MAX_HTML, VALUES, attributes, written
from common.html.clean import clean, plain
from common.html.images import IMG
from common.net.client import FetchError, client
from common.net.errors import host_of
from common.pictures.child import resized
from common.pictures.picture import MOST_CODED_BYTES, MOST_SIDE, BadPicture, CleanPicture
from common.ports import channels
from common.refused import Refused
from common.text import pluralize, shortened, without_controls
from delivery.issues.contents import card_of
from delivery.models import Issue, IssueImport, IssueImportLine, IssueImportPicture, IssueItem
from delivery.rules.audience import Audience
from feeds.parsing.entry import Entry
from migrate_from.old_issues.found import EMPTY, Found, IssueLine, OldIssue, Wanted
from migrate_from.old_issues.wordpress import opened_export
from subscriptions.branding.brands import kept_picture, picture_url
from subscriptions.models import Picture, Subscribable

log = logging.getLogger(__name__)

# Collections have numbers or times here.
KEYS = "old-"
PRIVATE_HERE = "Private: only the admin shows it."
LONGEST_STORED_TITLE = 300
DELETED_AT_ONCE = 100
Result = IssueImportLine.Result
MOST_PICTURES = 3_000
MOST_KEPT_BYTES = 500 * MEGABYTE
MOST_IN_AN_ISSUE = 60
LARGEST_KEPT = 600_000
FETCH_SECONDS = 10.0
# For all pictures of an issue. A lease is longer.
ISSUE_SECONDS = 60.0
# After these failures in a pass a host isn't asked any more.
MOST_FAILURES_OF_HOST = 3
ACCEPTED = {"Accept": "image/webp,image/png,image/jpeg,image/gif"}
_LINKED = re.compile(rf"<a({VALUES})>(\s*<img({VALUES})>\s*)</a>")
_FILE = re.compile(r"\.(?:jpe?g|png|gif|webp|avif|heic)\b", re.IGNORECASE)


class PictureKeeper:
    """Fetches the pictures of one import. Each address is asked once, also by later workers."""

    def __init__(self, row: IssueImport, renew: Callable[[], object]) -> None:
        self._row, self._renew = row, renew
        self._failures: Counter[str] = Counter()
        kept = row.pictures_kept.exclude(picture=None).aggregate(size=Sum("size"))
        self._bytes_left = MOST_KEPT_BYTES - (kept["size"] or 0)
        self._left = MOST_PICTURES - row.pictures_kept.count()

    def kept(self, html: str) -> tuple[str, int]:
        """Replace the addresses in cleaned HTML. Uses the network.

        Also returns how many pictures still are at their old addresses.
        """
        addresses = dict.fromkeys(
            source
            for match in IMG.finditer(html)
            if (source := attributes(match[1]).get("src", "")).startswith(("http://", "https://"))
        )
        end = time.monotonic() + ISSUE_SECONDS
        names: dict[str, str] = {}
        for address in list(addresses)[:MOST_IN_AN_ISSUE]:
            if name := self._name_of(address, end):
                names[address] = name

        def image(match: re.Match[str]) -> str:
            values = attributes(match[1])
            name = names.get(values.get("src", ""))
            return f"<img{written({**values, 'src': picture_url(name)})}>" if name else match[0]

        def link(match: re.Match[str]) -> str:
            # Programs link pictures to their large copies.
            values, source = attributes(match[1]), attributes(match[3]).get("src", "")
            if source in names and _FILE.search(values.get("href", "")):
                return f'<a href="{escape(picture_url(names[source]))}">{match[2]}</a>'
            return match[0]

        return IMG.sub(image, _LINKED.sub(link, html)), len(addresses) - len(names)

    def _name_of(self, address: str, end: float) -> str:
        """Return the name of its copy, or ""."""
        key = hashlib.sha256(address.encode("utf-8", "surrogatepass")).hexdigest()
        known = self._row.pictures_kept.filter(address_hash=key).first()
        if known is not None:
            return known.picture_id or ""
        if self._left <= 0 or self._bytes_left <= 0 or time.monotonic() > end:
            return ""
        if self._failures[host_of(address)] >= MOST_FAILURES_OF_HOST:
            return ""
        picture = self._fetched(address)
        self._renew()
        with transaction.atomic():
            name = kept_picture(picture)
            size = len(picture.data) if picture else 0
            values = {"picture_id": name, "size": size}
            IssueImportPicture.objects.get_or_create(upload=self._row, address_hash=key, defaults=values)
        self._left -= 1
        self._bytes_left -= size
        return name or ""

    def _fetched(self, address: str) -> CleanPicture | None:
        try:
            answer = client().get(
                address, headers=ACCEPTED, timeout=FETCH_SECONDS, max_bytes=MOST_CODED_BYTES
            )
        except FetchError as error:
            self._failures[host_of(address)] += 1
            log.info("could not fetch a picture of an old issue: %s", error)
            return None
        if answer.status != 200:
            return None
        try:
            return resized(answer.body, most_side=MOST_SIDE, most_bytes=LARGEST_KEPT)
        except BadPicture:
            return None


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


def line_of(issue: OldIssue, result: str, words: str = "") -> IssueLine:
    return IssueLine(issue.title, words, issue.at, result)


def preview(row: IssueImport, found: Found) -> list[IssueLine]:
    """Return what would be done, without reading texts."""
    old = Issue.objects.filter(subscribable=row.subscribable, within_type_id__startswith=KEYS).order_by()
    there = set(old.values_list("within_type_id", flat=True))
    return [
        line_of(issue, Result.THERE if key_of(issue) in there else Result.TAKEN, _notes(issue))
        for issue in found.issues
    ]


def _notes(issue: OldIssue) -> str:
    return " ".join(filter(None, [issue.note, PRIVATE_HERE if issue.is_private else ""]))


def key_of(issue: OldIssue) -> str:
    return f"{KEYS}{hashlib.sha256(issue.key.encode()).hexdigest()[:40]}"


def is_there(row: IssueImport, issue: OldIssue) -> bool:
    return Issue.objects.filter(subscribable=row.subscribable, within_type_id=key_of(issue)).exists()


def prepare(row: IssueImport, issue: OldIssue, keeper: PictureKeeper | None) -> tuple[Entry, str]:
    """Return an issue with its text cleaned and its pictures fetched, and remarks.

    Uses the network. Raises Refused.
    """
    try:
        raw = issue.read()
        html, linked = clean(raw, base=row.address), 0
    except Refused:
        raise
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        log.exception("an old issue could not be read: %s", issue.key)
        raise Refused("Its text can’t be read.") from error
    if keeper is not None:
        html, linked = keeper.kept(html)
    if not plain(html) and "<img" not in html:
        raise Refused(EMPTY)
    words = [
        _notes(issue),
        f"Not copied, and still at the old address: {pluralize(linked, 'picture')}." if linked else "",
        f"Cut after {MAX_HTML:,} characters." if len(raw) > MAX_HTML else "",
    ]
    title = shortened(without_controls(issue.title), LONGEST_STORED_TITLE)
    entry = Entry(guid=key_of(issue), title=title, content=html, published=issue.at)
    return entry, " ".join(filter(None, words))


def store(row: IssueImport, issue: OldIssue, prepared: tuple[Entry, str], *, now: datetime) -> IssueLine:
    """Store an issue unless it is there, in the caller's transaction."""
    entry, words = prepared
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
        return line_of(issue, Result.THERE)
    IssueItem.objects.create(issue=stored, position=0, entry=entry.to_json())
    card_of(stored, [entry]).save(force_insert=True)
    return line_of(issue, Result.CHANGED if words else Result.TAKEN, words)


def keep_lines(row: IssueImport, lines: Sequence[IssueLine]) -> None:
    """PostgreSQL stores no NUL."""
    IssueImportLine.objects.bulk_create(
        IssueImportLine(
            upload=row,
            result=line.result,
            title=shortened(without_controls(line.title), LONGEST_STORED_TITLE),
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
