import mimetypes
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from html import escape
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from common.html.clean import plain
from common.text import shortened
from feeds.models import Feed
from feeds.parsing.pictures import beside
from reader.media.icons import feed_icon
from reader.media.posts import PICTURES, html_by_proxy, picture_by_proxy
from reader.models import Follow
from reader.rules.google_names import READ, READING_LIST, STARRED, StreamName, post_name
from reader.rules.order import EPOCH, MICROSECOND
from reader.timelines.selections import Standing

Shown = dict[str, Any]

MILLISECOND = timedelta(milliseconds=1)
# Apps ignore enclosures without a type.
USUAL_TYPES = {"audio": "audio/mpeg", "video": "video/mp4", "photo": "image/jpeg", "featured": "image/jpeg"}
ABOUT = ("in-reply-to", "repost-of", "like-of", "bookmark-of", "quotation-of")


def post_shown(standing: Standing, folders: Mapping[int, str]) -> Shown:
    """Without some of the keys, apps show nothing of a whole page."""
    entry, feed = standing.entry, standing.entry.feed
    jf2: Mapping[str, Any] = entry.jf2 or {}
    author = (jf2.get("author") or {}).get("name", "")
    site = (feed.site_url or feed.url) if feed else ""
    link = {"href": jf2.get("url") or site}
    published = int((entry.published or entry.seen_at).timestamp())
    post: Shown = {
        "id": post_name(entry.pk),
        "crawlTimeMsec": str((standing.came_at - EPOCH) // MILLISECOND),
        "timestampUsec": microseconds(standing.came_at),
        "published": published,
        "updated": published,
        # Some apps show “No title”.
        "title": jf2.get("name") or shortened(plain(_html(jf2)), 80),
        "canonical": [link],
        "alternate": [{**link, "type": "text/html"}],
        "summary": {"content": _html(jf2)},
        "categories": [str(name) for name in _categories(standing, folders)],
        "origin": {
            "streamId": str(StreamName("feed", str(feed.pk if feed else 0))),
            "title": feed_title(feed) if feed else author,
            "htmlUrl": site,
        },
    }
    if author:
        post["author"] = author
    if files := [file for kind in USUAL_TYPES for file in _files(jf2, kind)]:
        post["enclosure"] = files
    return post


def subscription(follow: Follow, folders: Sequence[str]) -> Shown:
    feed = follow.feed
    icon = feed_icon(feed, site=settings.SITE_URL)
    return {
        "id": str(StreamName("feed", str(feed.pk))),
        "title": follow.title,
        "categories": [{"id": str(StreamName("label", name)), "label": name} for name in folders],
        "url": feed.url,
        "htmlUrl": feed.site_url or feed.url,
        **({"iconUrl": icon} if icon else {}),
    }


def microseconds(moment: datetime) -> str:
    """Return a string, since some languages lack large integers."""
    return str((moment - EPOCH) // MICROSECOND)


def feed_title(feed: Feed) -> str:
    return feed.title or feed.host


def _categories(standing: Standing, folders: Mapping[int, str]) -> list[StreamName]:
    states = [READING_LIST]
    if standing.is_read:
        states.append(READ)
    if standing.is_starred:
        states.append(STARRED)
    named = [folders[channel] for channel in standing.channels if channel in folders]
    return [*states, *(StreamName("label", name) for name in named)]


def _html(jf2: Mapping[str, Any]) -> str:
    """Return text and pictures; apps show only this."""
    content = jf2.get("content") or {}
    html = str(content.get("html") or escape(str(content.get("text") or jf2.get("summary") or "")))
    pictures = beside(jf2.get("photo", ()), html)
    html += "".join(f'<p><img src="{escape(url)}" alt=""></p>' for url in pictures)
    if html:
        return html_by_proxy(html, site=settings.SITE_URL)
    about = (url for relation in ABOUT for url in jf2.get(relation, ()))
    return "".join(f'<p><a href="{escape(url)}">{escape(url)}</a></p>' for url in about)


def _files(jf2: Mapping[str, Any], kind: str) -> list[Shown]:
    usual = USUAL_TYPES[kind]
    start = usual.partition("/")[0]
    files = []
    for url in jf2.get(kind, ()):
        href = picture_by_proxy(url, site=settings.SITE_URL) if kind in PICTURES else url
        type_ = mimetypes.guess_type(urlsplit(url).path)[0] or ""
        files.append({"href": href, "type": type_ if type_.startswith(start) else usual})
    return [one for one in files if one["href"]]
