"""From feedparser's dict of one entry to ours: every field bounded, plain where it is plain."""

import hashlib
import html
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from common.html import plain
from common.text import one_line, shortened, without_controls
from feeds.parsing.entry import Entry
from feeds.parsing.media import absolute, image_of, is_image, media_of

SYNTHETIC = "feedletter-synthetic:"
MAX_TITLE = 1_000
MAX_CONTENT = 500_000
MAX_GUID = 4_000
MAX_NAME = 200
MAX_LISTED = 50

Raw = dict[str, Any]


def identity(raw: Raw) -> str:
    """The guid, else the link, else a digest of title and date; "" when the entry has none of them."""
    guid = without_controls(_text(raw, "id")).strip()
    if guid:
        return guid if len(guid) <= MAX_GUID else _digest(guid)
    link = without_controls(_text(raw, "link")).strip()
    if link:
        return SYNTHETIC + link if len(link) <= MAX_GUID else _digest(link)
    title, date = _text(raw, "title"), _text(raw, "published") or _text(raw, "updated")
    return _digest(f"{title}\n{date}") if title.strip() or date.strip() else ""


def moment(raw: Raw, key: str) -> datetime | None:
    """`published` or `updated` in UTC; None when it is missing or cannot be read."""
    parsed = dict.get(raw, f"{key}_parsed")
    if not parsed:
        return None
    try:
        # A leap second is the second after 59 (RFC 3339 §5.7).
        year, month, day, hour, minute, second = parsed[:6]
        return datetime(year, month, day, hour, minute, tzinfo=UTC) + timedelta(seconds=second)
    except (TypeError, ValueError, OverflowError):
        return None


def entry_of(raw: Raw, guid: str, *, base: str, atom: bool) -> Entry:
    """The entry, with links resolved against `base`; its html is as the feed gave it."""
    content = _best_content(raw.get("content") or (), atom)
    summary = "" if _repeats(raw) else _html(raw.get("summary_detail") or {}, atom)
    media = tuple(media_of(raw, base))
    return Entry(
        guid=guid,
        title=shortened(_title(raw, atom), MAX_TITLE),
        link=_link(raw, base, atom),
        authors=_listed(_name(author) for author in raw.get("authors") or ()),
        content=content,
        summary=summary or ("" if content else _described(raw)),
        # RSS 1.0 has one date, and an Atom entry must have `updated` only.
        published=moment(raw, "published") or moment(raw, "updated"),
        updated=moment(raw, "updated"),
        categories=_listed(tag.get("label") or tag.get("term") for tag in raw.get("tags") or ()),
        media=media,
        language=language(_text(raw, "language") or _content_language(raw)),
        image=image_of(raw, base) or next((medium.url for medium in media if medium.is_image), ""),
    )


def language(text: object) -> str:
    """A language tag (RFC 5646 has at most 35 characters as a rule), or ""."""
    tag = str(text or "").strip().replace("_", "-")
    return tag if re.fullmatch(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,4}", tag) and len(tag) <= 35 else ""


def _text(raw: Raw, key: str) -> str:
    # dict.get: FeedParserDict would answer `published` for a missing `updated`, with a warning.
    value = dict.get(raw, key)
    return value if isinstance(value, str) else ""


def _digest(text: str) -> str:
    return f"{SYNTHETIC}sha256:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _title(raw: Raw, atom: bool) -> str:
    detail = raw.get("title_detail") or {}
    # RFC 4287 §3.1.1.1: a text title is literal; in RSS nobody knows.
    literal = atom and detail.get("type") == "text/plain"
    title = _text(raw, "title")
    return one_line(title[: 10 * MAX_TITLE]) if literal else plain(title)


def _link(raw: Raw, base: str, atom: bool) -> str:
    link, guid = _text(raw, "link"), _text(raw, "id")
    if link == guid and link:
        # The guid stood in for a missing link: only where it is an address as it stands.
        named = any(dict.get(one, "href") == link for one in raw.get("links") or ())
        link = link if named or (not atom and _scheme_of(link) in ("http", "https")) else ""
    return absolute(_text(raw, "feedburner_origlink"), base) or absolute(link, base)


def _scheme_of(url: str) -> str:
    return url.partition(":")[0].strip().lower()


def _best_content(contents: Iterable[Any], atom: bool) -> str:
    pieces = [_html(content, atom) for content in contents if isinstance(content, dict)]
    return max(pieces, key=len, default="")


def _html(detail: Mapping[str, Any], atom: bool) -> str:
    value = without_controls(str(detail.get("value") or ""))[:MAX_CONTENT].strip()
    if atom and detail.get("type") == "text/plain" and value:
        paragraphs = html.escape(value, quote=False).replace("\r\n", "\n").split("\n\n")
        return "".join(f"<p>{paragraph.strip()}</p>".replace("\n", "<br>") for paragraph in paragraphs)
    return value


def _repeats(raw: Raw) -> bool:
    """feedparser copies a content into a missing summary."""
    summary = _text(raw, "summary")
    return any(content.get("value") == summary for content in raw.get("content") or ())


def _described(raw: Raw) -> str:
    """What YouTube and others say of a video, which is all the text there is."""
    for one in raw.get("media_content") or ():
        if one.get("description") and not is_image(one):
            text = without_controls(str(one["description"]))[:MAX_CONTENT]
            return html.escape(text, quote=False).replace("\n", "<br>")
    return ""


def _name(author: Any) -> str:
    return str(author.get("name") or author.get("email") or "") if isinstance(author, dict) else ""


def _listed(names: Iterable[object]) -> tuple[str, ...]:
    """Plain, short, each once, at most fifty."""
    found: dict[str, None] = {}
    for name in names:
        text = shortened(plain(str(name or "")), MAX_NAME)
        if text:
            found[text] = None
        if len(found) >= MAX_LISTED:
            break
    return tuple(found)


def _content_language(raw: Raw) -> str:
    contents = raw.get("content") or [raw.get("title_detail") or {}]
    return str(contents[0].get("language") or "")
