"""Fetches the page of a post, without the database, as robots.txt allows."""

from urllib.parse import urlsplit

from common.html.clean import clean, lines
from common.html.titles import without_title
from common.net.client import Fetched, FetchError, SafeClient, Unreached
from common.text import without_controls
from common.ttl_cache import TtlCache
from feeds.parsing.discovery import decoded
from feeds.polling.page_child import extracted
from feeds.polling.read import content_type
from feeds.rules.whole import NO_PAGE, SHORT, is_whole, may_fetch, passes, refusal

ACCEPTED = "text/html, application/xhtml+xml;q=0.9"
SECONDS = 15.0
MOST_BYTES, MOST_ROBOTS = 2_000_000, 500_000
robots_texts = TtlCache[str](room=5_000_000, seconds=3600, size=lambda text: len(text) + 100)


class NoPage(Exception):
    """`passes`: it may work later."""

    def __init__(self, reason: str, *, passes: bool = False) -> None:
        super().__init__(reason)
        self.passes = passes


def whole_text(url: str, *, title: str, excerpt: str, http: SafeClient) -> str:
    """Return safe html that is longer than the excerpt. Raises NoPage."""
    _heed_robots(url, http)
    fetched = _get(url, http, MOST_BYTES)
    place = without_controls(fetched.url)
    if fetched.redirects:
        _heed_robots(place, http)
    if not 200 <= fetched.status < 300:
        reason = f"The server doesn’t give us the page (HTTP {fetched.status})."
        raise NoPage(reason, passes=passes(fetched.status))
    kind = content_type(fetched)
    html = decoded(fetched.body, kind, most=MOST_BYTES)
    if reason := refusal(url=place, was_redirected=bool(fetched.redirects), kind=kind, html=html):
        raise NoPage(reason)
    text = without_title(clean(extracted(html), base=place), title)
    if not is_whole(" ".join(lines(text)), " ".join(lines(excerpt))):
        raise NoPage(SHORT)
    return text


def _heed_robots(url: str, http: SafeClient) -> None:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise NoPage(NO_PAGE)
    # A user name in it would be sent.
    origin = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    if not may_fetch(robots_texts.get(origin, lambda: _rules(origin, http)), url):
        raise NoPage("The site’s robots.txt doesn’t allow it.")


def _rules(origin: str, http: SafeClient) -> str:
    fetched = _get(f"{origin}/robots.txt", http, MOST_ROBOTS)
    if passes(fetched.status):
        raise NoPage(f"The site’s robots.txt can’t be read (HTTP {fetched.status}).", passes=True)
    return fetched.body.decode("utf-8", "replace") if 200 <= fetched.status < 300 else ""


def _get(url: str, http: SafeClient, most: int) -> Fetched:
    try:
        return http.get(url, headers={"Accept": ACCEPTED}, timeout=SECONDS, max_bytes=most)
    except FetchError as error:
        raise NoPage(str(error), passes=isinstance(error, Unreached)) from error
