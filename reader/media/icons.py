import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from html import escape
from typing import Any

from common.clock import utcnow
from common.html.balance import attributes, written
from common.html.images import IMG, KEPT
from common.net.client import client
from common.net.errors import FetchError
from common.passes import TimeBudget
from feeds.models import Feed, FeedDocument
from feeds.parsing.discovery import decoded
from reader.media.pictures import Busy, media_path, picture_at
from reader.models import FeedIcon
from reader.rules.icons import icons_of
from reader.rules.jf2 import Jf2, without_nothing

PICTURES = ("photo", "featured")
PAGE_SECONDS, MAX_PAGE = 10.0, 1_000_000
KEPT_FOR, NOT_FOUND_FOR, BUSY_FOR = timedelta(days=30), timedelta(days=7), timedelta(minutes=5)
ICON_LEASE = timedelta(minutes=15)


def feed_icon(feed: Feed, *, site: str = "") -> str:
    """Return the address here, or "". Needs `feed__icon` selected."""
    icon = getattr(feed, "icon", None)
    return picture_by_proxy(icon.url, site=site) if icon else ""


def want_icon(feed: Feed, *, now: datetime) -> None:
    FeedIcon.objects.update_or_create(feed=feed, defaults={"look_at": now})


def look_for_icons(*, clock: Callable[[], datetime] = utcnow, budget: timedelta | None = None) -> int:
    left, count = TimeBudget(budget), 0
    while not left.is_spent:
        row = FeedIcon.objects.due(clock()).select_related("feed").order_by("look_at").first()
        if row is None:
            break
        mine = FeedIcon.objects.filter(pk=row.pk, look_at=row.look_at)
        if not row.feed.read_by:
            mine.delete()  # Asked for again when somebody follows it.
        elif mine.update(look_at=clock() + ICON_LEASE):
            url, again = _looked_up(row.feed, row.url)
            FeedIcon.objects.filter(pk=row.pk).update(url=url, look_at=clock() + again)
            count += bool(url)
    return count


def _looked_up(feed: Feed, known: str) -> tuple[str, timedelta]:
    """Return the first picture that can be shown, and when to look again."""
    try:
        for url in _candidates(feed):
            if picture_at(url) is not None:
                return url, KEPT_FOR
    except Busy:
        return known, BUSY_FOR
    return "", NOT_FOUND_FOR


def _candidates(feed: Feed) -> Iterator[str]:
    channel = FeedDocument.objects.filter(feed=feed).values_list("channel", flat=True).first() or {}
    if image := str(channel.get("image") or ""):
        yield image
    page = feed.site_url or feed.url
    with suppress(FetchError):
        answer = client().get(page, timeout=PAGE_SECONDS, max_bytes=MAX_PAGE)
        if answer.status == 200:
            yield from icons_of(decoded(answer.body, answer.headers.get("content-type", "")), answer.url)
            return
    yield from icons_of("", page)


def html_by_proxy(html: str, *, site: str = "", **added: str) -> str:
    """Proxy the pictures of sanitized HTML, and add attributes. `site` precedes their paths."""

    def by_proxy(match: re.Match[str]) -> str:
        values = attributes(match[1])
        path = media_path(values.get("src", ""))
        if not path:
            return escape(values.get("alt", ""))
        kept = {name: values[name] for name in KEPT if name in values}
        return f"<img{written({'src': site + path, 'alt': '', **kept, **added})}>"

    return IMG.sub(by_proxy, html)


def jf2_by_proxy(jf2: Mapping[str, Any], *, site: str) -> Jf2:
    """Proxy pictures, dropping others."""
    post = dict(jf2)
    for name in PICTURES:
        post[name] = pictures_by_proxy(post.get(name, ()), site=site)
    if author := post.get("author"):
        post["author"] = without_nothing(
            {**author, "photo": picture_by_proxy(author.get("photo"), site=site)}
        )
    content = post.get("content") or {}
    if html := content.get("html"):
        post["content"] = {**content, "html": html_by_proxy(html, site=site)}
    if refs := post.get("refs"):
        post["refs"] = {url: jf2_by_proxy(one, site=site) for url, one in refs.items()}
    return without_nothing(post)


def pictures_by_proxy(urls: Iterable[object], *, site: str = "") -> list[str]:
    return [path for url in urls if (path := picture_by_proxy(url, site=site))]


def picture_by_proxy(url: object, *, site: str = "") -> str:
    path = media_path(str(url)) if url else ""
    return path and site + path
