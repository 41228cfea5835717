import hashlib
import re
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from datetime import datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from django.utils.text import Truncator

from common.html.clean import clean
from common.html.titles import without_title
from common.net.client import MAX_BYTES, REQUEST_SECONDS, FetchError, SafeClient, client
from common.refused import Refused
from common.text import without_controls
from common.transactions import forbid_open_transaction
from feeds.adding.add import new_feed
from feeds.addresses import host_of_url, is_address
from feeds.credentials import headers_for
from feeds.models import Feed
from feeds.parsing.discovery import WebPage, decoded, format_of, read_page
from feeds.parsing.document import parse
from feeds.parsing.entry import Entry, ParsedFeed, ParseError
from feeds.parsing.format import is_page
from feeds.polling.claims import own_document
from feeds.polling.page_text import NoPage, whole_text
from feeds.polling.read import Reading, content_type
from feeds.polling.whole import claim_host
from feeds.rules.alerts import permanent_target
from feeds.rules.facts import Document, Insert, Known
from feeds.rules.forecast import Forecast, of_insert
from feeds.rules.plan import plan_document

ACCEPTED_PAGES = (
    "application/atom+xml, application/rss+xml, application/feed+json, application/rdf+xml;q=0.9,"
    " application/xml;q=0.8, text/xml;q=0.8, text/html;q=0.7, application/xhtml+xml;q=0.7, */*;q=0.5"
)
JSON_STARTS = (b"{", b"[")
POSTS_PREVIEWED = 20
# Enough for an excerpt, and little to clean twenty times.
MAX_HTML = 50_000
WORDS = 70
PAGE_WITHOUT_FEED = "This address is a web page, not a feed. Go back and choose one of its feeds."
_IMG = re.compile(r"<img (?=[^>]*>)")


@dataclass(frozen=True, slots=True)
class Looked:
    """`url` is after permanent redirects, `base` after all. `status` is None without an answer.

    `parsed`: it is a feed; `page`: it is html (with h-entries both); else `error`.
    """

    url: str
    base: str
    status: int | None = None
    body: bytes = b""
    content_type: str = ""
    parsed: ParsedFeed | None = None
    page: WebPage | None = None
    html: str = ""
    error: str = ""

    @property
    def is_feed(self) -> bool:
        return self.parsed is not None and self.page is None

    @property
    def is_json(self) -> bool:
        return self.body.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in JSON_STARTS


def look(
    url: str,
    *,
    http: SafeClient,
    seconds: float,
    max_bytes: int = MAX_BYTES,
    secrets: Mapping[str, str] | None = None,
) -> Looked:
    """Raise nothing that a server can cause.

    `secrets`: headers for this host, dropped on redirects to others.
    """
    try:
        headers = {"Accept": ACCEPTED_PAGES, **(secrets or {})}
        fetched = http.get(url, headers=headers, timeout=seconds, max_bytes=max_bytes)
    except FetchError as error:
        return Looked(url, url, error=str(error))
    place = without_controls(permanent_target(url, fetched.redirects) or url)
    base = without_controls(fetched.url)
    if not 200 <= fetched.status < 300:
        return Looked(place, base, fetched.status, error=refusal(fetched.status))
    return read_document(Looked(place, base, fetched.status, fetched.body, content_type(fetched)))


def look_here(url: str, now: datetime) -> Looked | None:
    """Return a feed of this site, without the network. None for others, and for what isn't there."""
    found = own_document(url, now)
    if found is None or found.fetched.status != HTTPStatus.OK:
        return None
    return read_document(Looked(url, url, HTTPStatus.OK, found.fetched.body, content_type(found.fetched)))


def read_document(answer: Looked) -> Looked:
    body, kind = answer.body, answer.content_type
    page, html, parsed, error = None, "", None, ""
    # Most pages have no posts.
    if not is_page(body, kind):
        parsed, error = _parsed(answer)
    if parsed is None and is_page(body, kind, refused=True):
        html = decoded(body, kind)
        page = read_page(html, answer.base)
        parsed, error = _parsed(answer) if page.has_posts else (None, "")
        parsed = parsed if parsed and parsed.entries else None
    return replace(answer, parsed=parsed, page=page, html=html, error=error)


def _parsed(answer: Looked) -> tuple[ParsedFeed | None, str]:
    try:
        return parse(answer.body, content_type=answer.content_type, url=answer.base), ""
    except ParseError as failure:
        return None, str(failure)


def refusal(status: int) -> str:
    code = f"(HTTP {status})"
    if status == 401:
        return f"This address asks for a user name and a password {code}. Give them and try again."
    if status == 403:
        return f"The server does not let us read this address {code}. Ask its publisher to allow Feedletter."
    if status in (404, 410):
        return f"There is nothing at this address {code}. Check it for a typing mistake."
    if status == 429:
        return f"The server says we ask too often {code}. Try again later."
    if status >= 500:
        return f"The server has a problem {code}. Try again later."
    return f"The server answered with an error {code}. Check the address in a browser."


@dataclass(frozen=True, slots=True)
class PostPreview:
    """`excerpt` is safe html; `rank` 1 is the newest.

    `is_sent` is for the choice made, `is_sent_by_all` for “everything”. `sent` and `stays`: what happens if
    the post is sent or not.
    """

    id: str
    title: str
    link: str
    authors: tuple[str, ...]
    published: datetime | None
    image: str
    excerpt: str
    rank: int
    is_sent: bool
    is_sent_by_all: bool
    sent: str
    stays: str
    settles: datetime | None
    announce: str = ""


@dataclass(frozen=True, slots=True)
class Preview:
    url: str
    title: str
    site: str
    language: str
    format: str
    image: str
    warnings: tuple[str, ...]
    total: int
    sent: int
    sent_by_all: int
    posts: tuple[PostPreview, ...]

    @property
    def more(self) -> int:
        return self.total - len(self.posts)


class NoPreview(Refused):
    """`status` is the server's."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


def preview(
    url: str,
    *,
    now: datetime,
    http: SafeClient | None = None,
    credentials: Mapping[str, str] | None = None,
    seconds: float = REQUEST_SECONDS,
    **choice: Any,
) -> Preview:
    """Store nothing. `choice`: start, start_count and the delays. Raises NoPreview or ValidationError."""
    forbid_open_transaction()
    row = new_feed(url=url, now=now, credentials=credentials)
    looked = look_here(row.url, now) or look(
        row.url, http=http or client(), seconds=seconds, secrets=headers_for(row)
    )
    if looked.parsed is None:
        raise NoPreview(looked.error or PAGE_WITHOUT_FEED, looked.status)
    return preview_of(replace(looked, url=row.url), now=now, **choice)


def preview_of(looked: Looked, *, now: datetime, **choice: Any) -> Preview:
    parsed = looked.parsed
    assert parsed is not None  # noqa: S101 - the caller's promise
    sha256 = hashlib.sha256(looked.body).hexdigest()
    reading = Reading(looked.body, sha256, {}, looked.base, now, parsed)
    feed = Feed(added_at=now, **choice)
    choices = _Choices(reading.document, feed, now)
    sent = choices.sent(feed.start, feed.start_count)
    ranks = choices.ranks(min(POSTS_PREVIEWED, len(parsed.entries)))
    shown = sorted(
        ((id_, entry) for id_, entry in reading.entries.items() if id_ in ranks),
        key=lambda one: ranks[one[0]],
    )
    host = urlsplit(looked.url).hostname or looked.url
    return Preview(
        url=looked.url,
        title=parsed.title or host,
        site=parsed.link,
        language=parsed.language,
        format=format_of(looked.body),
        image=parsed.channel.image,
        warnings=parsed.warnings,
        total=len(parsed.guids),
        sent=len(sent),
        sent_by_all=len(choices.sent(Feed.Start.ALL)),
        posts=tuple(
            PostPreview(
                id=id_,
                title=entry.title,
                link=entry.link,
                authors=entry.authors,
                published=entry.published or entry.updated,
                image=entry.image or next((medium.url for medium in entry.media if medium.is_image), ""),
                excerpt=excerpt(entry, looked.base),
                rank=ranks[id_],
                is_sent=id_ in sent,
                is_sent_by_all=choices.all[id_].event in ("new", "settled at once"),
                sent=choices.all[id_].fate,
                stays=choices.none[id_].fate,
                settles=choices.all[id_].settles,
                announce=entry.announce,
            )
            for id_, entry in shown
        ),
    )


class _Choices:
    def __init__(self, document: Document, feed: Feed, now: datetime) -> None:
        self.document, self.feed, self.now = document, feed, now
        self.none = self._forecasts(Feed.Start.FROM_NOW)
        self.all = self._forecasts(Feed.Start.ALL)

    def sent(self, start: str, count: int = 0) -> set[str]:
        return {insert.id for insert in self._inserts(start, count) if not insert.excluded}

    def ranks(self, count: int) -> dict[str, int]:
        """Rank from the newest, as counted by “the last n”."""
        ranks: dict[str, int] = {}
        for number in range(1, count + 1):
            for id_ in self.sent(Feed.Start.LAST, number):
                ranks.setdefault(id_, number)
        return ranks

    def _forecasts(self, start: str) -> dict[str, Forecast]:
        return {one.id: of_insert(one, self.feed, moment=self.now) for one in self._inserts(start)}

    def _inserts(self, start: str, count: int = 0) -> list[Insert]:
        feed = copy(self.feed)
        feed.start, feed.start_count = start, count
        return plan_document(self.document, Known(), feed, moment=self.now).insert


def with_whole(seen: Preview, *, now: datetime, http: SafeClient | None = None) -> tuple[Preview, str]:
    """Show the newest post with its page's text. Return why not, too."""
    newest = next((post for post in seen.posts if post.rank == 1 and is_address(post.link)), None)
    if newest is None:
        return seen, "No post has a link to a page."
    if not claim_host(host_of_url(newest.link), now):
        return seen, "A page of this site was read just now. Try again in ten seconds."
    try:
        text = whole_text(newest.link, title=newest.title, excerpt=newest.excerpt, http=http or client())
    except NoPage as error:
        return seen, str(error)
    whole = replace(newest, excerpt=_late(text))
    return replace(seen, posts=tuple(whole if post is newest else post for post in seen.posts)), ""


def excerpt(entry: Entry, url: str) -> str:
    """Return safe html."""
    cleaned = clean(entry.html[:MAX_HTML], base=entry.base or entry.link or url)
    short = Truncator(without_title(cleaned, entry.title)).words(WORDS, html=True, truncate=" …")
    return _late(short)


def _late(html: str) -> str:
    """Pictures load late and send no referrer."""
    return _IMG.sub('<img loading="lazy" referrerpolicy="no-referrer" ', html)
