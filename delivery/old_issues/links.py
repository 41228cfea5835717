"""Links between old issues, which led to the old site. They lead to this one if their target is here."""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import Any
from urllib.parse import parse_qs, urlsplit

from common.html.tags import VALUES, attributes, written
from delivery.links import issue_url
from delivery.models import Issue, IssueImport, IssueImportLine, IssueItem
from delivery.old_issues.store import KEYS, Line, key_of
from delivery.rules.old_issues.found import Found

ISSUES_A_QUERY = 50
MOST_NAMED = 5
_A = re.compile(f"<a({VALUES})>")


def relink(row: IssueImport, found: Found, renew: Callable[[], object]) -> list[Line]:
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
            lines.append(Line(IssueImportLine.Result.CHANGED, item.issue.title, at, words))
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
        query = parse_qs(split.query).get("id", [])
    except ValueError:
        return None
    if split.scheme not in ("http", "https"):
        return None
    return f"{_host(url)}{path}".lower(), [last.lower(), *(each.lower() for each in query)]


def _host(url: str) -> str:
    return (urlsplit(url).hostname or "").removeprefix("www.")
