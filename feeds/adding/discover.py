"""Finds feeds behind an address. Stores nothing."""

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from urllib.parse import urlsplit, urlunsplit

from django.core.exceptions import ValidationError

from common.db.bulk import batched
from common.net.client import MAX_BYTES, SafeClient, client, keeps_secrets
from common.text import pluralize, shortened
from common.transactions import forbid_open_transaction
from feeds.adding.add import new_feed
from feeds.adding.preview import Looked, look, look_here
from feeds.addresses import NO_ADDRESS, checked_url, same_address, without_feed_scheme
from feeds.credentials import headers_for
from feeds.models import Feed
from feeds.parsing.discovery import Link, WebPage, format_of, is_comment_feed, well_known
from feeds.parsing.entry import Entry
from feeds.parsing.known_sites import guesses, handle_page, prefers_guesses
from feeds.rules.facts import newest_first

# If there is another address. Most servers answer within a second.
FIRST_TRY_SECONDS = 8.0
AT_A_TIME = 4
NOT_THERE = (404, 410)
SERVER_ERROR = 500

NO_FEED_FOUND = (
    "This page names no feed, and none was found where feeds usually are. Look on the site for a link called"
    " RSS, Atom or Feed and paste its address; not every site has one."
)
OUT_OF_TIME = "The site took too long to answer. Try again later."

Credentials = Mapping[str, str] | None
LATEST_POSTS = 5
LISTED_TITLE = 150
COMPARED_POSTS = 20
STALE = timedelta(days=365)

COMMENTS = "This feed brings what readers comment, not the posts."
NO_POSTS = "It has no posts at the moment."
NO_DATES = "Its posts have no dates, so the order in the feed decides which are the newest."

# Document, and its title in the page.
Found = list[tuple[Looked, str]]


@dataclass(frozen=True, slots=True)
class CandidatePost:
    title: str
    published: datetime | None


@dataclass(frozen=True, slots=True)
class Candidate:
    """`url`: the address to watch; `feed_id`: the feed that watches it.

    `also`: (format, address) of the same posts.
    """

    url: str
    title: str
    format: str
    posts: int
    latest: tuple[CandidatePost, ...]
    warnings: tuple[str, ...]
    is_comments: bool
    looked: Looked
    also: tuple[tuple[str, str], ...] = ()
    feed_id: int | None = None


def candidates_of(found: Found, now: datetime) -> tuple[Candidate, ...]:
    every = _collapsed([_candidate(looked, title, now) for looked, title in found])
    stale = {one.url for one in every if (newest := _newest(one.latest)) and now - newest > STALE}
    ranked = sorted(every, key=lambda one: (one.is_comments, not one.posts, one.url in stale))
    addresses = {url for one in ranked for url in (one.url, one.looked.base)}
    places = [urlunsplit((scheme, *urlsplit(url)[1:])) for url in addresses for scheme in ("http", "https")]
    rows = Feed.objects.filter(url__in=places, dropping=False).order_by("-pk").values_list("url", "pk")
    known = {_key(url): pk for url, pk in rows}
    return tuple(
        replace(one, feed_id=known.get(_key(one.url), known.get(_key(one.looked.base)))) for one in ranked
    )


def _candidate(looked: Looked, title: str, now: datetime) -> Candidate:
    parsed = looked.parsed
    assert parsed is not None  # noqa: S101 - only feeds become candidates
    host = urlsplit(looked.url).hostname or looked.url
    entries = {entry.guid: entry for entry in parsed.entries}
    dates = {guid: entry.published or entry.updated for guid, entry in entries.items()}
    order = newest_first(list(entries), dates)
    known = {guid: date for guid, date in dates.items() if date}
    if len(known) == len(order):
        order.sort(key=known.__getitem__, reverse=True)
    latest = tuple(
        CandidatePost(shortened(entries[guid].title or entries[guid].link or guid, LISTED_TITLE), dates[guid])
        for guid in order[:LATEST_POSTS]
    )
    is_comments = is_comment_feed(looked.url, parsed.title) or is_comment_feed(looked.base, title)
    warnings = [COMMENTS] if is_comments else []
    newest = _newest(latest)
    if not latest:
        warnings.append(NO_POSTS)
    elif newest is None:
        warnings.append(NO_DATES)
    elif now - newest > STALE:
        warnings.append(f"Nothing new for a long time: its newest post is of {newest:%B %Y}.")
    return Candidate(
        url=looked.url,
        title=shortened(parsed.title or title or host, LISTED_TITLE),
        format=format_of(looked.body),
        posts=len(parsed.guids),
        latest=latest,
        warnings=tuple(warnings),
        is_comments=is_comments,
        looked=looked,
    )


def _newest(latest: Iterable[CandidatePost]) -> datetime | None:
    return max((post.published for post in latest if post.published), default=None)


def _collapsed(every: Sequence[Candidate]) -> list[Candidate]:
    groups: list[list[Candidate]] = []
    for one in every:
        group = next((group for group in groups if _is_same(group[0], one)), None)
        if group is None:
            groups.append([one])
        else:
            group.append(one)
    collapsed = []
    for group in groups:
        # Most text, in powers of two so that a few characters do not matter; then https.
        best = max(
            group,
            key=lambda one: (
                sum(len(entry.html) for entry in _compared(one)).bit_length(),
                one.url.startswith("https:"),
            ),
        )
        also = {one.format: one.url for one in reversed(group) if one.format != best.format}
        collapsed.append(replace(best, also=tuple(also.items())))
    return collapsed


def _is_same(one: Candidate, other: Candidate) -> bool:
    if one.looked.body == other.looked.body or _key(one.url) == _key(other.url):
        return True
    if one.title != other.title or one.is_comments != other.is_comments or not one.posts or not other.posts:
        return False
    posts, others = ([entry.link or entry.guid for entry in _compared(each)] for each in (one, other))
    return posts == others


def _compared(one: Candidate) -> tuple[Entry, ...]:
    return one.looked.parsed.entries[:COMPARED_POSTS] if one.looked.parsed else ()


def _key(url: str) -> str:
    return same_address(url).removeprefix("www.")


@dataclass(frozen=True, slots=True)
class DiscoveryBudget:
    """`seconds` in all, `max_bytes` for each answer."""

    requests: int = 12
    seconds: float = 20.0
    max_bytes: int = MAX_BYTES
    threads: int = 4


@dataclass(frozen=True, slots=True)
class Discovery:
    """Candidates, best first, or a `problem`.

    `is_feed`: the address is a feed. `may_be_a_feed`: unreadable, but may be one. `unread`: feeds not
    fetched.
    """

    asked: str
    candidates: tuple[Candidate, ...] = ()
    problem: str = ""
    is_feed: bool = False
    may_be_a_feed: bool = False
    needs_password: bool = False
    unread: int = 0

    @property
    def best(self) -> Candidate | None:
        return self.candidates[0] if self.candidates else None

    @property
    def only(self) -> Candidate | None:
        posts = [one for one in self.candidates if not one.is_comments]
        return posts[0] if len(posts) == 1 else None


@dataclass
class _Hunt:
    """Threads do not use the database."""

    http: SafeClient
    budget: DiscoveryBudget
    secrets: Mapping[str, str]
    asked: str = ""
    seen: set[str] = field(default_factory=set)
    ends_at: float = 0.0

    def __post_init__(self) -> None:
        self.ends_at = time.monotonic() + self.budget.seconds

    @property
    def left(self) -> int:
        return self.budget.requests - len(self.seen)

    def look(self, url: str, *, at_most: float = 0.0) -> Looked:
        seconds = self.ends_at - time.monotonic()
        if seconds <= 0:
            return Looked(url, url, error=OUT_OF_TIME)
        seconds = min(seconds, at_most) if at_most else seconds
        secrets = self.secrets if keeps_secrets(self.asked, url) else None
        return look(url, http=self.http, seconds=seconds, max_bytes=self.budget.max_bytes, secrets=secrets)

    def look_at(self, urls: Iterable[str]) -> list[Looked]:
        new = [url for url in dict.fromkeys(urls) if url not in self.seen][: max(self.left, 0)]
        self.seen.update(new)
        with ThreadPoolExecutor(self.budget.threads) as pool:
            return list(pool.map(self.look, new))

    def first(self, addresses: Sequence[str]) -> Looked:
        failed: Looked | None = None
        for number, url in enumerate(addresses):
            self.asked = url
            self.seen.add(url)
            is_last = number == len(addresses) - 1
            looked = self.look(url, at_most=0.0 if is_last else FIRST_TRY_SECONDS)
            if looked.status is not None:
                return looked
            failed = failed or looked
        assert failed is not None  # noqa: S101 - there is always an address
        return failed


def discover(
    url: str,
    *,
    now: datetime,
    http: SafeClient | None = None,
    budget: DiscoveryBudget | None = None,
    credentials: Credentials = None,
) -> Discovery:
    """Return the feeds behind an address or handle (@user@instance.example).

    Raises only ValidationError. Credentials are sent to its host only.
    """
    forbid_open_transaction()
    places = [new_feed(url=place, now=now, credentials=credentials) for place in addresses(url)]
    hunt = _Hunt(http or client(), budget or DiscoveryBudget(), headers_for(places[0]))
    here = (look_here(place.url, now) for place in places)
    first = next(filter(None, here), None) or hunt.first([place.url for place in places])
    if first.is_feed:
        found = [(first, "")]
        return Discovery(first.url, candidates_of(found, now), is_feed=True)
    found = _search(hunt, first)
    named = first.page.links if first.page else ()
    unread = sum(link.url not in hunt.seen for link in named)
    problem = ""
    if not found and first.page is None:
        problem = first.error
    elif not found and named:
        feeds = pluralize(len(named), "feed")
        problem = (
            f"This page names {feeds}, but none could be read. Try again later, or paste another address."
        )
    elif not found:
        problem = OUT_OF_TIME if time.monotonic() >= hunt.ends_at else NO_FEED_FOUND
    return Discovery(
        first.url,
        candidates_of(found, now),
        problem=problem,
        may_be_a_feed=not found and first.page is None and not first.is_json,
        needs_password=first.status == 401,
        unread=unread if found else 0,
    )


def addresses(url: str) -> tuple[str, ...]:
    """Return the address, or those for https and http. Raises ValidationError."""
    text = url.strip()
    if profile := handle_page(text):
        return (checked_url(profile),)
    text = without_feed_scheme(text).removeprefix("//")
    if re.match(r"[a-z][a-z0-9+.-]*://", text, re.IGNORECASE):
        scheme, _, rest = text.partition("://")
        return (checked_url(f"{scheme.lower()}://{rest}"),)
    if re.match(r"[a-z][a-z0-9+.-]*:(?!\d)", text, re.IGNORECASE):
        # mailto:, but not host:8000.
        raise ValidationError({"url": NO_ADDRESS})
    return tuple(checked_url(f"{scheme}://{text}" if text else "") for scheme in ("https", "http"))


def _search(hunt: _Hunt, first: Looked) -> Found:
    page = first.page or WebPage()
    # The base may be a consent page.
    guessed = [*guesses(first.base, first.html), *guesses(first.url)]
    if first.is_json:
        guessed.append(first.base.rstrip("/") + ".rss")
    links = [Link(url) for url in guessed] if prefers_guesses(first.base) else []
    links += sorted(page.links, key=lambda link: link.is_comments)
    if found := _feeds(hunt, links):
        return found
    if first.parsed is not None:
        return [(first, page.title)]
    if first.status is None or first.status in NOT_THERE or first.status >= SERVER_ERROR:
        return []
    if found := _feeds(hunt, map(Link, guessed)):
        return found
    if first.page is None:
        return []
    if found := _feeds(hunt, sorted(page.anchors, key=lambda link: link.is_comments)):
        return found
    for some in batched(well_known(first.base), AT_A_TIME):
        if found := _feeds(hunt, map(Link, some)):
            return found
    return []


def _feeds(hunt: _Hunt, links: Iterable[Link]) -> Found:
    titles = {link.url: link.title for link in reversed(list(links))}
    asked = [url for url in reversed(titles) if url not in hunt.seen]
    looked = zip(asked, hunt.look_at(asked), strict=False)
    return [(one, titles[url]) for url, one in looked if one.is_feed]
