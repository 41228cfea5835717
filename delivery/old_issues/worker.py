"""Stage that imports old issues from uploaded exports, and undoes it.

Each issue is stored in the transaction that counts it, so another worker can go on. None is stored twice,
because its key in the other program is unique in the newsletter.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from django.db import transaction

from common.clock import utcnow
from common.db.leases import held, lease
from common.html.balance import VALUES, attributes, written
from common.passes import TimeBudget
from common.refused import Refused
from common.uploads import LEASE, NotPossible, process_uploads, unpacked
from delivery.links import issue_url
from delivery.models import Issue, IssueImport, IssueImportLine, IssueItem
from delivery.old_issues import store
from delivery.old_issues.store import KEYS, PictureKeeper, key_of
from migrate_from.old_issues.found import Found, IssueLine, OldIssue
from subscriptions.models import Subscribable

State = IssueImport.State
Result = IssueImportLine.Result
FOLDER = "feedletter-old-issues"
# An import may fail after some issues.
UNDOABLE = (State.DONE, State.STOPPED, State.UNUSABLE)
ISSUES_A_QUERY = 50
MOST_NAMED = 5
_A = re.compile(f"<a({VALUES})>")


def upload(
    *, subscribable: Subscribable, name: str, pieces: Iterable[bytes], by: str, now: datetime, **choices: Any
) -> IssueImport:
    """Raises Refused for a bridge."""
    store.refuse_without_archive(subscribable)
    about = {"subscribable": subscribable, **choices}
    return IssueImport.keep({"": pieces}, State.LOOKING, name=name, by=by, now=now, **about)


@transaction.atomic
def begin_taking(issue_import: IssueImport, *, now: datetime) -> None:
    """Discard the preview and start. Raises NotPossible."""
    row = issue_import.locked(State.LOOKED)
    row.lines.all().delete()
    row.hand_on(State.TAKING, now, begun_at=now, done=0)


@transaction.atomic
def begin_undoing(issue_import: IssueImport, *, now: datetime) -> None:
    """Raises NotPossible."""
    row = issue_import.locked(*UNDOABLE)
    if not row.issues.exists():
        raise NotPossible(f"“{row.file_name}” brought no issues, so there’s nothing to undo.")
    row.hand_on(State.UNDOING, now)


def work_off_issue_imports(*, budget: timedelta) -> None:
    process_uploads(IssueImport, _work, budget=budget)


def _work(row: IssueImport, left: TimeBudget) -> None:
    if row.state == State.UNDOING:
        _undo(row, left)
        return
    with unpacked(row, FOLDER) as path:
        try:
            with store.opened(row, path, now=utcnow()) as found:
                if row.done or _begin(row, found):
                    _take(row, found, left)
        except Refused as error:
            row.trouble = str(error)
            row.finish(State.UNUSABLE)


def _begin(row: IssueImport, found: Found) -> bool:
    """Store what is refused, and end a preview. Return False if nothing is to be taken, or another has it."""
    is_preview = row.state == State.LOOKING
    with held(row) as is_ours:
        if is_ours:
            # A killed worker may have left lines.
            row.lines.all().delete()
            store.keep_lines(row, [*found.refused, *(store.preview(row, found) if is_preview else ())])
            row.program, row.parts = found.program, len(found.issues)
            row.address = row.address or found.address
            row.save()
            if is_preview:
                row.end(State.LOOKED, utcnow())
    return is_ours and not is_preview


def _take(
    row: IssueImport,
    found: Found,
    left: TimeBudget,
    told: Callable[[int, int], object] = lambda done, parts: None,
) -> None:
    keeper = PictureKeeper(row, row.renew) if row.pictures == IssueImport.Pictures.KEEP else None
    for issue in islice(found.issues, row.done, None):
        if left.is_spent:
            row.release()
            return
        step = prepared_step(row, issue, keeper, now=utcnow())
        with held(row) as is_ours:
            if not is_ours:
                return
            store.keep_lines(row, [step()])
            row.done += 1
            row.note_progress()
        told(row.done, row.parts)
    lines = relink(row, found, row.renew)
    with held(row) as is_ours:
        if is_ours:
            store.keep_lines(row, lines)
            row.end(State.DONE, utcnow())


def prepared_step(
    row: IssueImport, issue: OldIssue, keeper: PictureKeeper | None, *, now: datetime
) -> Callable[[], IssueLine]:
    """Read an issue, and return a function that stores it in the caller's transaction."""
    if store.is_there(row, issue):
        return lambda: store.line_of(issue, Result.THERE)
    try:
        prepared = store.prepare(row, issue, keeper)
    except Refused as error:
        why = str(error)
        return lambda: store.line_of(issue, Result.REFUSED, why)
    return lambda: store.store(row, issue, prepared, now=now)


def _undo(row: IssueImport, left: TimeBudget) -> None:
    while store.delete_batch(row):
        if left.is_spent:
            row.release()
            return
        with held(row) as is_ours:
            if not is_ours:
                return
            row.note_progress()
    store.delete_pictures(row)
    row.finish(State.UNDONE)


def import_file(row: IssueImport, path: Path, *, told: Callable[[int, int], object]) -> None:
    """Import an export on this machine, for a new row. A run that is cut off can be repeated.

    Raises Refused. `told` gets the numbers of done and of all issues.
    """
    with store.opened(row, path, now=utcnow()) as found:
        row.lease_token, row.lease_until = lease(utcnow(), LEASE)
        row.save()
        if _begin(row, found):
            _take(row, found, TimeBudget(None), told)


def undo_now(row: IssueImport) -> int:
    """Undo an import at once, as a command does. Return the number of issues. Raises NotPossible."""
    count: int = row.issues.count()
    begin_undoing(row, now=utcnow())
    while store.delete_batch(row):
        pass
    store.delete_pictures(row)
    IssueImport.objects.filter(pk=row.pk).update(state=State.UNDONE, ended_at=utcnow())
    return count


def relink(row: IssueImport, found: Found, renew: Callable[[], object]) -> list[IssueLine]:
    """Rewrite the links of all old issues of the newsletter. Name those to its old site that stay.

    Repeatable: links that lead here are no more links to the old site.
    """
    names = {name: key_of(issue) for issue in found.issues for name in issue.names}
    issues = Issue.objects.filter(subscribable=row.subscribable, within_type_id__startswith=KEYS)
    urls = {
        issue.within_type_id: issue_url(issue)
        for issue in issues.defer("html", "text").select_related("subscribable")
    }
    sites = _old_sites(row, names, renew)
    lines = []
    for item, links in _links(row, renew):
        ours = {
            link: url
            for link, (site, ends) in links.items()
            if site in sites and (url := next((urls.get(names[end], "") for end in ends if end in names), ""))
        }
        hosts = {site.partition("/")[0] for site in sites}
        rest = [
            link for link, (site, _) in links.items() if site.partition("/")[0] in hosts and link not in ours
        ]
        if ours:
            html = _A.sub(partial(_rewritten, ours), item.entry["content"])
            IssueItem.objects.filter(pk=item.pk).update(entry={**item.entry, "content": html})
        if rest:
            more = f" and {len(rest) - MOST_NAMED} more" if len(rest) > MOST_NAMED else ""
            words = f"Links that lead to the old site: {', '.join(rest[:MOST_NAMED])}{more}."
            at = item.issue.published_at
            lines.append(IssueLine(item.issue.title, words, at, Result.CHANGED))
    return lines


def _rewritten(ours: Mapping[str, str], match: "re.Match[str]") -> str:
    values = attributes(match[1])
    url = ours.get(values.get("href", ""))
    return f"<a{written({**values, 'href': url})}>" if url else match[0]


def _old_sites(row: IssueImport, names: Collection[str], renew: Callable[[], object]) -> set[str]:
    """Return addresses under which several issues were, or else the only one with any."""
    found: dict[str, set[str]] = defaultdict(set)
    for _item, links in _links(row, renew):
        for site, ends in links.values():
            found[site].update(end for end in ends if end in names)
    own = {site for site, ends in found.items() if ends and site.partition("/")[0] == _host(row.address)}
    several = own | {site for site, ends in found.items() if len(ends) > 1}
    any_ = {site for site, ends in found.items() if ends}
    return several or (any_ if len(any_) == 1 else set())


def _links(
    row: IssueImport, renew: Callable[[], object]
) -> Iterator[tuple[IssueItem, dict[str, tuple[str, list[str]]]]]:
    """Yield texts with their links: site, and what may be the name of an issue there."""
    rows: Any = IssueItem.objects.filter(
        issue__subscribable=row.subscribable, issue__within_type_id__startswith=KEYS
    )
    rows = rows.select_related("issue").defer("issue__html", "issue__text").order_by("pk")
    after = 0
    while items := list(rows.filter(pk__gt=after)[:ISSUES_A_QUERY]):
        after = items[-1].pk
        renew()
        for item in items:
            hrefs = (attributes(match[1]).get("href", "") for match in _A.finditer(item.entry["content"]))
            yield item, {href: parts for href in hrefs if (parts := _parts(href))}


def _parts(url: str) -> tuple[str, list[str]] | None:
    try:
        split = urlsplit(url)
        path, _, last = split.path.rstrip("/").rpartition("/")
        query = parse_qs(split.query)
    except ValueError:
        return None
    if split.scheme not in ("http", "https"):
        return None
    # WordPress has ?p=12.
    ends = [last, *query.get("id", []), *(f"p={number}" for number in query.get("p", []))]
    return f"{_host(url)}{path}".lower(), [end.lower() for end in ends]


def _host(url: str) -> str:
    return (urlsplit(url).hostname or "").removeprefix("www.")
