"""From a feed's address to its document: network and parsing, no transaction."""

import hashlib
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from common.html import clean
from common.http import FetchError, SafeClient
from common.text import one_line, without_controls
from feeds.models import Feed, FeedDocument
from feeds.parsing.content_hash import content_hash
from feeds.parsing.document import parse
from feeds.parsing.entry import Entry, ParsedFeed, ParseError
from feeds.rules.plan import Document, Seen

ACCEPT = "application/atom+xml, application/rss+xml, application/xml;q=0.9, text/xml;q=0.8, */*;q=0.5"
MAX_HEADER = 200


# RFC 9110, 13.1: what the server said of its answer → how to ask whether it still holds.
CONDITIONS = {"etag": "If-None-Match", "last-modified": "If-Modified-Since"}
NOT_MODIFIED = 304
GONE = 410


class ReadingFailed(Exception):
    """The feed could not be read. The message is one sentence for the admin.

    `status` and `retry_after` are the server's, when it answered.
    """

    def __init__(self, message: str, *, status: int | None = None, retry_after: str = "") -> None:
        super().__init__(message)
        self.status, self.retry_after = status, retry_after


def digest(guid: str) -> str:
    """An item's identity: the hex SHA-256 of its guid, whatever its length."""
    return hashlib.sha256(guid.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass
class Reading:
    """A fetched body. `unchanged`: a 304, or the same bytes as last time, so nothing was parsed.

    `headers` are those that the next reading needs: the content type and the validators.
    """

    body: bytes
    sha256: str
    headers: dict[str, str]
    url: str
    parsed: ParsedFeed | None = None
    _cleaned: dict[str, Entry] = field(default_factory=dict)

    @property
    def unchanged(self) -> bool:
        return self.parsed is None

    @cached_property
    def entries(self) -> dict[str, Entry]:
        return {digest(entry.guid): entry for entry in self.parsed.entries} if self.parsed else {}

    @cached_property
    def guids(self) -> dict[str, str]:
        """Digest → guid, of every entry of the document."""
        return {digest(guid): guid for guid in self.parsed.guids} if self.parsed else {}

    @cached_property
    def document(self) -> Document:
        entries = {
            id_: Seen(content_hash=content_hash(entry), published=entry.published)
            for id_, entry in self.entries.items()
        }
        return Document(order=tuple(self.guids), entries=entries)

    @cached_property
    def compressed(self) -> bytes:
        return zlib.compress(self.body, 5)

    def cleaned(self, id_: str) -> Entry:
        """The entry with html that is safe and absolute; made once, when it is new or changed."""
        if id_ not in self._cleaned:
            self._cleaned[id_] = clean_entry(self.entries[id_], self.url)
        return self._cleaned[id_]


def clean_entry(entry: Entry, url: str) -> Entry:
    base = entry.link or url
    return replace(entry, content=clean(entry.content, base=base), summary=clean(entry.summary, base=base))


def read(feed: Feed, http: SafeClient) -> Reading:
    """Fetches and, unless nothing has changed since last time, parses. Raises ReadingFailed."""
    kept = _kept(feed)
    try:
        fetched = http.get(feed.url, headers={"Accept": ACCEPT, **conditions(kept)})
    except FetchError as error:
        raise ReadingFailed(str(error)) from error
    if fetched.status == NOT_MODIFIED and kept is not None:
        headers = {**kept.headers, **validators(fetched.headers)}
        return Reading(body=b"", sha256=kept.sha256, headers=headers, url=kept.headers.get("url", feed.url))
    if not 200 <= fetched.status < 300:
        said = fetched.headers.get("retry-after", "")
        raise ReadingFailed(refusal(fetched.status), status=fetched.status, retry_after=said)
    reading = Reading(
        body=fetched.body,
        sha256=hashlib.sha256(fetched.body).hexdigest(),
        headers={"content-type": _header(fetched.headers, "content-type"), **validators(fetched.headers)},
        url=without_controls(fetched.url),
    )
    if kept is None or kept.sha256 != reading.sha256:
        reading.parsed = parsed(reading.body, reading.headers["content-type"], reading.url)
    return reading


def conditions(kept: FeedDocument | None) -> dict[str, str]:
    """The headers that ask for the document only if it is another than the one we keep."""
    headers = kept.headers if kept is not None else {}
    return {asked: headers[name] for name, asked in CONDITIONS.items() if headers.get(name)}


def validators(headers: Mapping[str, str]) -> dict[str, str]:
    """The validators of an answer, opaque as they are. One that would not fit is none."""
    found = {name: headers.get(name, "") for name in CONDITIONS}
    return {name: text for name, text in found.items() if text and text == one_line(text)[:MAX_HEADER]}


def _header(headers: Mapping[str, str], name: str) -> str:
    return one_line(headers.get(name, ""))[:MAX_HEADER]


def parsed(body: bytes, content_type: str, url: str) -> ParsedFeed:
    """The parsed document. Raises ReadingFailed."""
    try:
        return parse(body, content_type=content_type, url=url)
    except ParseError as error:
        raise ReadingFailed(str(error)) from error


def refusal(status: int) -> str:
    """What a status that is no success means for an admin."""
    if status == GONE:
        return "The server says that this feed is gone for good (HTTP 410): it is no longer read."
    if status == 404:
        return "There is nothing at this address any more (HTTP 404). Check it in a browser."
    if status in (401, 403):
        return f"The server does not let us read this feed (HTTP {status})."
    if status == 429:
        return "The server says we ask too often (HTTP 429). It is tried again later."
    return f"The server answered with an error (HTTP {status}). It is tried again later."


def _kept(feed: Feed) -> FeedDocument | None:
    """What we know of the last document. After a change of address the first one is read in full."""
    if feed.first_polled_at is None:
        return None
    return FeedDocument.objects.filter(feed=feed).only("sha256", "headers").first()
