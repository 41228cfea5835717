"""Fetching and parsing, without the database, in any thread."""

import hashlib
import logging
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from http import HTTPStatus
from itertools import islice
from typing import Any

from common.formats.written_dates import mail_date
from common.html.clean import clean
from common.html.titles import without_title
from common.net.client import Fetched, FetchError, SafeClient, Unreached
from common.text import one_line, without_controls
from feeds.models import FeedDocument
from feeds.parsing.document import parse
from feeds.parsing.entry import Channel, Entry, ParsedFeed, ParseError
from feeds.parsing.identity import content_hash, link_hash
from feeds.parsing.likeness import likeness
from feeds.rules.alerts import wants_all
from feeds.rules.boilerplate import POSTS_COMPARED, boilerplate_of, summary_of
from feeds.rules.facts import Document, Seen
from feeds.rules.whole import with_text

log = logging.getLogger(__name__)

ACCEPTED_FEEDS = (
    "application/atom+xml, application/rss+xml, application/feed+json, application/xml;q=0.9, text/xml;q=0.8,"
    " */*;q=0.5"
)
MAX_KEPT_HEADER = 200
MAX_LINK = 2_000

# RFC 9110 §13.1.
CONDITIONS = {"etag": "If-None-Match", "last-modified": "If-Modified-Since"}
NOT_MODIFIED = 304
# Prefix of a validator's name, in the kept headers, when its last value did not change with the document.
FALSE = "false-"
# In the kept headers: the server has answered a conditional request with a new document.
COMPARES = "compares"
# Of empty files (MD5, SHA-1), and of nothing.
EMPTY_TAGS = frozenset(
    ("", "0", "d41d8cd98f00b204e9800998ecf8427e", "da39a3ee5e6b4b0d3255bfef95601890afd80709")
)
FIRST_CREDIBLE = datetime(2000, 1, 1, tzinfo=UTC)
CLOCKS_DIFFER_BY = timedelta(days=1)
LIES = "The server’s {} did not change with the feed, so this value is no longer sent to it."
UNEXPECTED = "Reading the feed failed in an unforeseen way ({}). It is tried again later."


class ReadingFailed(Exception):
    """The message is for the admin. `unreached`: no answer."""

    def __init__(self, message: str, *, fetched: Fetched | None = None, unreached: bool = False) -> None:
        super().__init__(message)
        self.unreached = unreached
        self.status = fetched.status if fetched else None
        self.retry_after = fetched.headers.get("retry-after", "") if fetched else ""
        self.bytes = len(fetched.body) if fetched else 0


def unforeseen(error: Exception) -> ReadingFailed:
    return ReadingFailed(UNEXPECTED.format(type(error).__name__))


@dataclass(frozen=True, slots=True)
class OwnDocument:
    """A feed that this site serves. `is_complete`: missing posts were withdrawn."""

    fetched: Fetched
    moment: datetime
    is_complete: bool


@dataclass(frozen=True, slots=True)
class Ask:
    """One request for feeds that share address and credentials, each with its last document.

    The documents lack `body` and `order`. `refused`: why it cannot be made. `own` needs no request.
    """

    url: str
    feeds: Mapping[int, FeedDocument | None]
    credentials: Mapping[str, str] = field(default_factory=dict)
    refused: str = ""
    own: OwnDocument | None = None

    def conditions(self, now: datetime) -> dict[str, str]:
        """Ask only for a document other than the one all feeds keep.

        Sometimes return none, in case a cache answers "not modified" forever.
        """
        every = list(self.feeds.values())
        first = every[0] if every else None
        if first is None or any(last is None or last.sha256 != first.sha256 for last in every):
            return {}
        feed = first.feed
        silent_since = max(feed.added_at, feed.newest_at or feed.added_at)
        if wants_all(
            first.sent_at or first.fetched_at,
            now,
            silent_since=None if COMPARES in first.headers else silent_since,
            read_at=feed.fetched_through or first.fetched_at,
        ):
            return {}
        return {asked: first.headers[name] for name, asked in CONDITIONS.items() if first.headers.get(name)}


def digest(guid: str) -> str:
    return hashlib.sha256(guid.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass
class Reading:
    """The answer to a request. `moment` is just before it; finality uses no other clock.

    `parsed` is None for a `failure`, a 304, or the same bytes as in `last`, the feed's last document.
    `headers` has what the next reading needs: the content type and the validators. `asked_all`: without
    conditions. A `partial` document was pushed by a hub and may hold only what is new. Once posts are
    distinguished (`feeds.polling.known_items`), `holders` says which post has each shared guid, and
    `before` has the guids and entries, by their ids, that did not count in the last document.
    """

    body: bytes
    sha256: str
    headers: dict[str, str]
    url: str
    moment: datetime
    parsed: ParsedFeed | None = None
    channel: Channel = field(default_factory=Channel)
    last: FeedDocument | None = None
    fetched: Fetched | None = None
    failure: ReadingFailed | None = None
    seconds: float = 0.0
    asked_all: bool = False
    is_complete: bool = False
    partial: bool = False
    note: str = ""
    holders: Mapping[str, str] | None = None
    before: Mapping[str, tuple[str, Entry | None]] = field(default_factory=dict)
    # Of this document, or for a push of earlier ones.
    common: tuple[str, str] = ("", "")
    # Posts with other words than in the last document, and both texts.
    reworded: dict[str, tuple[Entry, Entry]] = field(default_factory=dict)
    # Of posts' pages, by id.
    texts: Mapping[str, str] = field(default_factory=dict)
    # Keys of the items that got a new version.
    corrected: set[int] = field(default_factory=set)
    _cleaned: dict[str, Entry] = field(default_factory=dict, init=False)

    @property
    def unchanged(self) -> bool:
        return self.parsed is None

    @property
    def was_sent(self) -> bool:
        return self.fetched is not None and self.fetched.status != NOT_MODIFIED

    @cached_property
    def entries(self) -> dict[str, Entry]:
        return {digest(entry.guid): entry for entry in self.parsed.entries} if self.parsed else {}

    @cached_property
    def guids(self) -> dict[str, str]:
        """Digest → guid, of every entry."""
        return {digest(guid): guid for guid in self.parsed.guids} if self.parsed else {}

    @cached_property
    def document(self) -> Document:
        order = tuple(self.guids)
        entries = {
            id_: Seen(
                content_hash(entry),
                published=entry.published,
                link=link_hash(entry.link),
                slack=entry.slack,
                like=likeness(entry.title, entry.link),
            )
            for id_, entry in self.entries.items()
        }
        return Document(order, entries, self.is_complete)

    @cached_property
    def boilerplate(self) -> tuple[str, str]:
        newest = (self.entries[id_] for id_ in self.document.newest_first() if id_ in self.entries)
        return boilerplate_of([summary_of(entry) for entry in islice(newest, POSTS_COMPARED)])

    @cached_property
    def compressed(self) -> bytes:
        return zlib.compress(self.body, 5)

    def cleaned(self, id_: str) -> Entry:
        """Return safe and absolute html; made once, when it is new or changed."""
        if id_ not in self._cleaned:
            self._cleaned[id_] = clean_entry(self.entries[id_], self.url)
        return self._cleaned[id_]

    def kept(self, id_: str) -> dict[str, Any]:
        """Return the row's JSON, with the common part of the feed's summaries."""
        entry = replace(self.cleaned(id_), boilerplate=self.common).to_json()
        return with_text(entry, text) if (text := self.texts.get(id_)) else entry


def clean_entry(entry: Entry, url: str) -> Entry:
    base = entry.base or entry.link or url
    content, summary = clean(entry.content, base=base), clean(entry.summary, base=base)
    return replace(
        entry, content=without_title(content, entry.title), summary=without_title(summary, entry.title)
    )


def read(ask: Ask, http: SafeClient, clock: Callable[[], datetime]) -> dict[int, Reading]:
    """Return each feed's reading. Raises nothing."""
    try:
        answer = fetch(ask, http, clock)
        return {pk: reading_of(last, answer) for pk, last in ask.feeds.items()}
    except Exception as error:
        log.exception("fetching failed", extra={"url": ask.url})
        return dict.fromkeys(ask.feeds, Reading(b"", "", {}, ask.url, clock(), failure=unforeseen(error)))


def fetch(ask: Ask, http: SafeClient, clock: Callable[[], datetime]) -> Reading:
    """Parse if new to a feed. Raises nothing that a server can cause."""
    moment, started = ask.own.moment if ask.own else clock(), time.monotonic()
    answer = Reading(b"", "", {}, ask.url, moment, is_complete=bool(ask.own and ask.own.is_complete))
    try:
        if ask.refused:
            raise ReadingFailed(ask.refused)
        conditions = {} if ask.own else ask.conditions(answer.moment)
        headers = {"Accept": ACCEPTED_FEEDS, **ask.credentials, **conditions}
        fetched = ask.own.fetched if ask.own else http.get(ask.url, headers=headers)
        answer.fetched, answer.seconds = fetched, time.monotonic() - started
        answer.asked_all = not conditions
        if fetched.status == NOT_MODIFIED and conditions:
            return answer
        if not 200 <= fetched.status < 300:
            raise ReadingFailed(why_unread(fetched.status), fetched=fetched)
        answer.sha256 = hashlib.sha256(fetched.body).hexdigest()
        if any(last is None or last.sha256 != answer.sha256 for last in ask.feeds.values()):
            answer.parsed = parsed(fetched)
    except FetchError as error:
        answer.failure = ReadingFailed(str(error), unreached=isinstance(error, Unreached))
    except ReadingFailed as error:
        answer.failure = error
    if answer.failure:
        answer.seconds = time.monotonic() - started
    return answer


def parsed(fetched: Fetched) -> ParsedFeed:
    try:
        return parse(fetched.body, content_type=content_type(fetched), url=without_controls(fetched.url))
    except ParseError as error:
        raise ReadingFailed(str(error), fetched=fetched) from error


def pushed(url: str, body: bytes, headers: Mapping[str, str], moment: datetime) -> Reading:
    fetched = Fetched(200, url, {name.lower(): value for name, value in headers.items()}, body)
    document = parsed(fetched)
    kept = {"content-type": content_type(fetched), "url": url}
    sha256 = hashlib.sha256(body).hexdigest()
    return Reading(body, sha256, kept, url, moment, document, document.channel, partial=True)


def reading_of(last: FeedDocument | None, answer: Reading) -> Reading:
    """Interpret the answer for a feed with this last document."""
    fetched = answer.fetched
    if answer.failure is not None or fetched is None:
        return answer
    moment, before = answer.moment, last.headers if last else {}
    channel = Channel.from_json(last.channel) if last else Channel()
    if fetched.status == NOT_MODIFIED and last is not None:
        headers = {**before, **_unless_false(validators(fetched.headers, moment), before)}
        url = before.get("url", "")
        return replace(answer, sha256=last.sha256, headers=headers, url=url, channel=channel, last=last)
    # For WebSub (RFC 8288).
    link = one_line(fetched.headers.get("link", ""))[:MAX_LINK]
    url = without_controls(fetched.url)
    document = None if last is not None and last.sha256 == answer.sha256 else answer.parsed
    checked = validators(fetched.headers, moment)
    # After a push the server's document was not known, which proves nothing.
    was_known = last is not None and bool(last.sha256)
    false = _false_ones(checked, before if was_known else {}, document, moment)
    values = _unless_false(checked, {**before, **false})
    headers = {"content-type": content_type(fetched), "link": link, **values, "url": url}
    if (not answer.asked_all) if document is not None and was_known else COMPARES in before:
        headers[COMPARES] = "yes"
    return replace(
        answer,
        body=fetched.body,
        headers=headers,
        url=url,
        parsed=document,
        channel=document.channel if document else channel,
        last=last,
        note=LIES.format(" and ".join(name.removeprefix(FALSE) for name in false)) if false else "",
    )


def validators(headers: Mapping[str, str], now: datetime) -> dict[str, str]:
    """Omit values that are too long, have control characters, or cannot be true."""
    values = {name: headers.get(name, "") for name in CONDITIONS}
    values = {
        name: text for name, text in values.items() if text and text == one_line(text)[:MAX_KEPT_HEADER]
    }
    if values.get("etag", "-").lower().removeprefix("w/").strip('"') in EMPTY_TAGS:
        del values["etag"]
    if modified := mail_date(values.get("last-modified", "")):
        latest = mail_date(headers.get("date", "")) or now + CLOCKS_DIFFER_BY
        if not FIRST_CREDIBLE <= modified <= latest:
            del values["last-modified"]
    return values


def _false_ones(
    values: Mapping[str, str], before: Mapping[str, str], document: ParsedFeed | None, now: datetime
) -> dict[str, str]:
    """Return a new document's validators that did not change, or are older than its posts."""
    if document is None:
        return {}
    false = {FALSE + name: text for name, text in values.items() if before.get(name) == text}
    modified = mail_date(values.get("last-modified", ""))
    dates = (entry.published for entry in document.entries if entry.published and entry.published <= now)
    if modified and (newest := max(dates, default=None)) and newest - modified > CLOCKS_DIFFER_BY:
        false[f"{FALSE}last-modified"] = values["last-modified"]
    return false


def _unless_false(values: Mapping[str, str], known: Mapping[str, str]) -> dict[str, str]:
    false = {FALSE + name: text for name, text in values.items() if known.get(FALSE + name) == text}
    return false | {name: text for name, text in values.items() if FALSE + name not in false}


def content_type(fetched: Fetched) -> str:
    return one_line(fetched.headers.get("content-type", ""))[:MAX_KEPT_HEADER]


def why_unread(status: int) -> str:
    if status == HTTPStatus.GONE:
        return "The server says that this feed is gone for good (HTTP 410)."
    if status == 404:
        return "There is nothing at this address (HTTP 404). Check it in a browser."
    if status in (401, 403):
        return f"The server does not let us read this feed (HTTP {status})."
    if status == 429:
        return "The server says we ask too often (HTTP 429). It is tried again later."
    return f"The server answered with an error (HTTP {status}). It is tried again later."
