from collections.abc import Mapping
from dataclasses import dataclass, replace

from common.net.client import MAX_BYTES, FetchError, SafeClient
from common.text import without_controls
from feeds.parsing.discovery import WebPage, decoded, read_page
from feeds.parsing.document import parse
from feeds.parsing.entry import ParsedFeed, ParseError
from feeds.parsing.format import is_page
from feeds.polling.read import content_type
from feeds.rules.address_moves import permanent_target

ACCEPTED_PAGES = (
    "application/atom+xml, application/rss+xml, application/feed+json, application/rdf+xml;q=0.9,"
    " application/xml;q=0.8, text/xml;q=0.8, text/html;q=0.7, application/xhtml+xml;q=0.7, */*;q=0.5"
)
JSON_STARTS = (b"{", b"[")


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
    place, base = settled(url, fetched.redirects), without_controls(fetched.url)
    if not 200 <= fetched.status < 300:
        return Looked(place, base, fetched.status, error=refusal(fetched.status))
    return read_document(Looked(place, base, fetched.status, fetched.body, content_type(fetched)))


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


def settled(url: str, redirects: tuple[tuple[int, str], ...]) -> str:
    return without_controls(permanent_target(url, redirects) or url)


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
