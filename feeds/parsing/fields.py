import html
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import feedparser.datetimes

from common.formats.written_dates import MAX_DATE, is_guess, is_zone_unknown, parsed_moment, slack_of
from common.html.clean import bounded, plain
from common.html.titles import decoded_again, plain_title
from common.text import one_line, shortened, without_controls
from feeds.parsing.entry import Entry, Person, Social
from feeds.parsing.hints import announced
from feeds.parsing.media import absolute, image_of, is_image, renditions_of
from feeds.parsing.people import MAX_LISTED, author_names, listed
from feeds.parsing.pictures import Picture
from feeds.parsing.posts import SYNTHETIC, PostReader, digest_of, markup, paragraphs, without_void_ends

# Mastodon: content warning and line before hidden text.
_WARNING = re.compile(
    r"\s*<p>((?:<strong>[^<]{0,100}:\s*</strong>)?(?:(?!</?p\b|<hr\b).){1,2000})</p>\s*<hr\s*/?>",
    re.IGNORECASE | re.DOTALL,
)
MAX_ENTRY_TITLE = 1_000
MAX_DESCRIPTION = 500
MAX_CONTENT = 500_000
MAX_GUID = 4_000
MAX_EMPTY = 2_000
# Words of `data-` attributes may become a link.
_SHOWN = re.compile(
    r"<(?:img|picture|svg|math|iframe|video|audio|embed|object|input|hr|[a-z]+-)|\shref|\sdata-",
    re.IGNORECASE,
)
INVISIBLE = " \xa0\xad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"

Raw = dict[str, Any]


def identity(raw: Raw) -> str:
    """Return the guid, link, or a digest of title and date."""
    guid = without_controls(_text(raw, "id")).strip()
    if guid:
        return guid if len(guid) <= MAX_GUID else digest_of(guid)
    link = without_controls(_text(raw, "link")).strip()
    if link:
        return SYNTHETIC + link if len(link) <= MAX_GUID else digest_of(link)
    title, date = _text(raw, "title"), _text(raw, "published") or _text(raw, "updated")
    return digest_of(f"{title}\n{date}") if title.strip() or date.strip() else ""


def moment(raw: Raw, key: str) -> datetime | None:
    """Return UTC. feedparser knows more formats, but invents missing parts."""
    text = _text(raw, key)
    exact = parsed_moment(text)
    if not text or (exact and not is_zone_unknown(text)):
        return exact
    try:
        parsed = feedparser.datetimes._parse_date(text[:MAX_DATE])
        if not parsed or is_guess(text, parsed[0]):
            return exact
        year, month, day, hour, minute, second = parsed[:6]
        return datetime(year, month, day, hour, minute, tzinfo=UTC) + timedelta(seconds=second)
    except (TypeError, ValueError, OverflowError):
        return exact


@dataclass(frozen=True, slots=True)
class XmlReader(PostReader[Raw]):
    """Resolve links of entries at `url` against `base`.

    `inherited`, `owners`: authors of an Atom feed, for entries without any; `language` likewise.
    """

    base: str
    url: str
    atom: bool
    inherited: tuple[str, ...] = ()
    owners: tuple[Person, ...] = ()
    language: str = ""

    def guid(self, post: Raw) -> str:
        return identity(post)

    def words(self, post: Raw) -> str:
        """RFC 4287 §4.1.1: Atom entries with one id are states of one entry, unless links differ."""
        if self.atom and _text(post, "id").strip():
            return _text(post, "link")
        return _text(post, "title").strip() or _said(post) or _text(post, "link")

    def text(self, post: Raw) -> str:
        text = _said(post)
        return digest_of(f"text\n{text}") if text else ""

    def date(self, post: Raw) -> datetime | None:
        return moment(post, "published") or moment(post, "updated")

    def entry(self, post: Raw, guid: str) -> Entry:
        # feedparser's dict searches synonyms at every access.
        raw = dict(post)
        contents = raw.get("content") or ()
        summary_detail, title_detail = _dict(raw, "summary_detail"), _dict(raw, "title_detail")
        texts = []
        for one in contents:
            if not isinstance(one, dict):
                continue
            # RFC 4287 §4.1.3.1: others are films or base64.
            kind = str(dict.get(one, "type") or "text/html")
            if kind.startswith("text/") or kind.endswith("xml") or "/" not in kind:
                texts.append(dict(one))
        detail = max(texts, key=lambda text: len(str(text.get("value") or "")), default={})
        content = html_of(detail, self.atom)
        if is_empty(content):
            content = ""
        # feedparser copies it into a missing summary.
        is_copy = any(dict.get(one, "value") == _text(raw, "summary") for one in contents)
        summary = "" if is_copy else html_of(summary_detail, self.atom)
        # xml:base may be relative.
        declared = (one["base"] for one in (detail, summary_detail, title_detail) if one.get("base"))
        near = absolute(next(declared, ""), self.url)
        link = _link(raw, self.base, self.atom)
        files = renditions_of(raw, near or self.base, link)
        pictures = (Picture(one.medium.url, width=one.width) for one in files if one.medium.is_image)
        image = image_of(raw, near or self.base) or next(pictures, Picture(""))
        published, updated = moment(raw, "published"), moment(raw, "updated")
        tongue = _text(raw, "language") or dict.get((contents or [title_detail])[0], "language")
        title = line_of(raw, "title", MAX_ENTRY_TITLE, self.atom)
        people = authors_of(raw)
        if not (has_author := any(people)):
            people = authors_of(_dict(raw, "source"))
        return Entry(
            guid=guid,
            title=title,
            link=link,
            authors=names_of(people) or (() if has_author else self.inherited),
            content=content,
            summary=summary or ("" if content else _described(raw)),
            # Atom requires only `updated`.
            published=published or updated,
            updated=updated,
            categories=listed(
                dict.get(tag, "label") or dict.get(tag, "term") for tag in raw.get("tags") or ()
            ),
            media=tuple(one.medium for one in files),
            language=language(tongue) or self.language,
            image=image.url,
            image_width=image.width,
            sensitive=bool(raw.get("sensitive")),
            warning="" if title else warning_of(content or summary, link),
            announce=hint_of(raw)[0],
            base=near,
            slack=slack_of(_text(raw, "published" if published else "updated")),
            social=Social(people=people_of(people, self.base) or (() if has_author else self.owners)),
        )


def line_of(raw: Raw, key: str, limit: int, atom: bool) -> str:
    """Atom declares the type (RFC 4287 §3.1.1.1); RSS is guessed."""
    text = _text(raw, key)
    kind = dict.get(_dict(raw, f"{key}_detail"), "type") if atom else ""
    if kind == "text/plain":
        line = one_line(text[: 10 * MAX_ENTRY_TITLE])
    else:
        # RSS descriptions have paragraphs and links.
        line = plain_title(text, is_html=bool(kind) or key == "subtitle")
    if atom:
        line = decoded_again(line)
    return shortened(line, limit) if line.strip(INVISIBLE) else ""


def hint_of(raw: Raw) -> tuple[str, str]:
    hints = dict.get(raw, "iffy_hints") or ()
    return announced(str(one["policy"]) for one in hints if not one["restricted"])


def language(text: object) -> str:
    """RFC 5646."""
    tag = str(text or "").strip().replace("_", "-")
    return tag if re.fullmatch(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,4}", tag) and len(tag) <= 35 else ""


def _text(raw: Raw, key: str) -> str:
    # FeedParserDict returns `published` for `updated`, with a warning.
    value = dict.get(raw, key)
    return value if isinstance(value, str) else ""


def _said(raw: Raw) -> str:
    details = (*(raw.get("content") or ()), _dict(raw, "summary_detail"))
    return " ".join(" ".join(str(dict.get(detail, "value") or "") for detail in details).split())


def _dict(raw: Raw, key: str) -> Raw:
    value = raw.get(key)
    return dict(value) if isinstance(value, dict) else {}


def _link(raw: Raw, base: str, atom: bool) -> str:
    link, guid = _text(raw, "link"), _text(raw, "id")
    is_address = guid.partition(":")[0].strip().lower() in ("http", "https")
    if link == guid and link:
        # Not a guid that is no address.
        named = any(dict.get(one, "href") == link for one in raw.get("links") or ())
        link = link if named or is_address else ""
    # RFC 4287 §4.2.7.2: alternates have any type.
    alternates = (
        dict.get(one, "href") for one in raw.get("links") or () if dict.get(one, "rel") == "alternate"
    )
    links = (_text(raw, "feedburner_origlink"), link, next(filter(None, alternates), ""))
    # Atom ids have no isPermaLink; WordPress' "?p=7" leads to the post whatever it says.
    own = absolute(guid, "") if is_address else ""
    own = own if atom or urlsplit(own).hostname == urlsplit(base).hostname else ""
    return next(filter(None, (absolute(one, base) for one in links)), own)


def warning_of(text: str, link: str) -> str:
    match = _WARNING.match(text)
    is_status = match and ("/@" in link or match[1].lower().startswith("<strong>"))
    return plain(match[1].replace("</strong>", " </strong> ")) if match and is_status else ""


def html_of(detail: Mapping[str, Any], atom: bool) -> str:
    """Atom declares plain text (RFC 4287 §3.1.1.1, §4.1.3.3); RSS is guessed."""
    value = bounded(without_controls(str(detail.get("value") or "")), MAX_CONTENT).strip()
    kind = str(detail.get("type") or "")
    if kind.endswith("xml"):
        return without_void_ends(value)
    if atom and kind.startswith("text/") and kind != "text/html":
        return paragraphs(value)
    return markup(value, is_guess=not atom)


def is_empty(html_text: str) -> bool:
    """Return whether html shows no word, picture or embed."""
    return (
        len(html_text) < MAX_EMPTY and not _SHOWN.search(html_text) and not plain(html_text).strip(INVISIBLE)
    )


def _described(raw: Raw) -> str:
    """YouTube's entries have no other text."""
    for one in raw.get("media_content") or ():
        if one.get("description") and not is_image(one):
            text = without_controls(str(one["description"]))[:MAX_CONTENT]
            return html.escape(text, quote=False).replace("\n", "<br>")
    return ""


def names_of(people: Iterable[Raw]) -> tuple[str, ...]:
    return author_names(_text(person, "name") for person in people)


def people_of(people: Iterable[Raw], base: str) -> tuple[Person, ...]:
    """RFC 4287 §3.2.2."""
    named = ((", ".join(author_names([_text(one, "name")])), one) for one in people)
    return tuple(Person(name, absolute(one.get("href"), base)) for name, one in named if name)


def authors_of(raw: Raw) -> list[Raw]:
    """RFC 4287 §4.2.1."""
    return [dict(one) for one in dict.get(raw, "authors") or () if isinstance(one, dict)][:MAX_LISTED]
