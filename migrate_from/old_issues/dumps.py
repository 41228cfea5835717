"""Exports that are one file: Ghost's JSON, listmonk's campaigns as JSON or a dump, beehiiv's CSV."""

import csv
import json
import re
import threading
import zlib
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from html import escape, unescape
from typing import IO, Any

from common.formats.pg_dump import dumped_tables
from common.formats.written_dates import parsed_moment
from common.refused import Refused
from common.text import one_line
from migrate_from.old_issues import found
from migrate_from.old_issues.found import (
    MOST_PAGE,
    Collected,
    Found,
    Wanted,
    csv_rows,
    lines_of,
    refuse_too_many,
    refuse_too_much,
    title_of,
    without_parts,
)
from migrate_from.old_issues.hosted import markdown_html
from migrate_from.records import text_at

GHOST_URL = "__GHOST_URL__"
NEEDS_ADDRESS = "Give the address of the old site, or its own links and pictures are lost."
# Bits of a text's format in Lexical, and their tags.
_FORMATS = ((1, "strong"), (2, "em"), (4, "s"), (16, "code"), (32, "sub"), (64, "sup"))
_DEEPEST = 40
_HEADING = re.compile(r"h[1-6]")
# {{ TrackLink "https://…" . }}, https://…@TrackLink, {{ .Subscriber.Name }}
_TRACKED = re.compile(r"""\{\{\s*TrackLink\s+["`]([^"`{}<>]{1,2000})["`][^{}<>]{0,20}\}\}""")
_TRACKED_END = re.compile(r"@TrackLink\b")
# {first_name}, {first_name, "there"}
_GHOST_FIELD = re.compile(
    r"\{(?:first_name|name|email|uuid)\s{0,5}(?:,?\s{0,5}(?:&quot;|[\"'“‘])([^{}<>]{0,200}?)(?:&quot;|[\"'”’]))?\s{0,5}\}"
)
_TEMPLATE = re.compile(r"\{\{[^{}<>]{0,500}\}\}")
MAY_BE_PAID = "It may have a part for paying subscribers only."
_FREE, _PAID = ("free", "all free subscribers"), ("premium", "all premium subscribers")
_BEEHIIV_TEXT = re.compile(r"""<[^<>]*\sid=["']content-blocks["'][^<>]*>?""")
# The footer, the link to read it online, and links to share it.
_BEEHIIV_PARTS = frozenset(("td.b", "td.f", "table.mob-block"))
_TITLE = re.compile(r"<h1\b[^<>]*>([^<]*)</h1>")
_CELLS = threading.Lock()


def ghost_posts(document: Any) -> list[Any] | None:
    """Return the posts of {"db": [{"data": {"posts": […]}}]}, or without the outer list."""
    if isinstance(document, dict) and isinstance(document.get("db"), list) and document["db"]:
        document = document["db"][0]
    data = document.get("data") if isinstance(document, dict) else None
    posts = data.get("posts") if isinstance(data, dict) else None
    return posts if isinstance(posts, list) else None


def ghost(posts: Iterable[Any], wanted: Wanted) -> Found:
    rows = [row for row in posts if isinstance(row, dict)]
    refuse_too_many(len(rows))
    collected = Collected("Ghost", wanted)
    for row in rows:
        title, at = one_line(text_at(row, "title")), parsed_moment(text_at(row, "published_at"))
        key = f"ghost {text_at(row, 'uuid') or row.get('id')}"
        html = f"{text_at(row, 'html')}{text_at(row, 'lexical')}{text_at(row, 'feature_image')}"
        note = NEEDS_ADDRESS if GHOST_URL in html and not wanted.address else ""
        visibility = text_at(row, "visibility").lower()
        collected.add(
            key,
            title,
            at,
            partial(_ghost_page, row, wanted.address),
            why=_why_not_ghost(row),
            note=note,
            names=[row.get("slug"), row.get("uuid")],
            is_paid=visibility in ("paid", "tiers"),
            # “sent”: by email only.
            is_private=visibility not in ("", "public") or row.get("status") == "sent",
        )
    return collected.found()


def _why_not_ghost(row: Mapping[str, Any]) -> str:
    if row.get("status") not in ("published", "sent"):
        return found.NOT_SENT
    if row.get("type", "post") != "post" or row.get("page") in (1, True):
        return "It’s a page, not an issue."
    return "" if any(text_at(row, name).strip() for name in ("html", "lexical")) else found.EMPTY


def _ghost_page(row: Mapping[str, Any], address: str) -> str:
    html = text_at(row, "html") or lexical_html(text_at(row, "lexical"))
    if picture := text_at(row, "feature_image"):
        html = f'<p><img src="{escape(picture)}" alt="{escape(text_at(row, "feature_image_alt"))}"></p>{html}'
    html = _GHOST_FIELD.sub(lambda match: match[1] or "", html)
    return html.replace(GHOST_URL, address.rstrip("/"))


def lexical_html(text: str) -> str:
    """Render the document of Ghost's editor, to be cleaned. Unknown cards show their children."""
    try:
        root = json.loads(text[:MOST_PAGE])["root"]
        return _node(root, 0)
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""


def _node(node: Any, depth: int) -> str:
    if not isinstance(node, dict) or depth > _DEEPEST:
        return ""
    kind = text_at(node, "type").removeprefix("extended-")
    if render := _CARDS.get(kind):
        return render(node)
    children = node.get("children")
    inner = "".join(_node(child, depth + 1) for child in children) if isinstance(children, list) else ""
    tag = text_at(node, "tag")
    match kind:
        case "paragraph":
            return f"<p>{inner}</p>"
        case "heading":
            return f"<{tag}>{inner}</{tag}>" if _HEADING.fullmatch(tag) else f"<h2>{inner}</h2>"
        case "link":
            return f'<a href="{escape(text_at(node, "url"))}">{inner}</a>'
        case "list":
            return f"<ol>{inner}</ol>" if tag == "ol" else f"<ul>{inner}</ul>"
        case "listitem":
            return f"<li>{inner}</li>"
        case "quote" | "aside":
            return f"<blockquote>{inner}</blockquote>"
    return inner


def _words(node: Mapping[str, Any]) -> str:
    html, bits = escape(text_at(node, "text"), quote=False), node.get("format")
    for bit, tag in _FORMATS:
        if isinstance(bits, int) and bits & bit:
            html = f"<{tag}>{html}</{tag}>"
    return html


def _image(node: Mapping[str, Any]) -> str:
    caption = text_at(node, "caption")
    image = f'<img src="{escape(text_at(node, "src"))}" alt="{escape(text_at(node, "alt"))}">'
    return f"<figure>{image}{f'<figcaption>{caption}</figcaption>' if caption else ''}</figure>"


def _bookmark(node: Mapping[str, Any]) -> str:
    about = node.get("metadata")
    title = (text_at(about, "title") if isinstance(about, dict) else "") or text_at(node, "url")
    return f'<p><a href="{escape(text_at(node, "url"))}">{escape(title, quote=False)}</a></p>'


_CARDS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "text": _words,
    "linebreak": lambda node: "<br>",
    "horizontalrule": lambda node: "<hr>",
    "image": _image,
    "bookmark": _bookmark,
    "embed": lambda node: text_at(node, "html") or _bookmark(node),
    "html": lambda node: text_at(node, "html"),
    "markdown": lambda node: markdown_html(text_at(node, "markdown")),
    "codeblock": lambda node: f"<pre><code>{escape(text_at(node, 'code'), quote=False)}</code></pre>",
    "callout": lambda node: f"<blockquote>{text_at(node, 'calloutText')}</blockquote>",
    "button": lambda node: (
        f'<p><a href="{escape(text_at(node, "buttonUrl"))}">{escape(text_at(node, "buttonText"))}</a></p>'
    ),
}


def listmonk_dump(stream: IO[str], wanted: Wanted) -> Found:
    """The table `campaigns` of a plain dump. Raises Refused without one."""
    for name, rows in dumped_tables(stream):
        if name == "campaigns":
            return listmonk(_bounded(rows), wanted)
    raise Refused("The dump has no campaigns, so it isn’t one of listmonk.")


def _bounded(rows: Iterable[Mapping[str, Any]]) -> Iterable[Mapping[str, Any]]:
    size = 0
    for count, row in enumerate(rows, 1):
        refuse_too_many(count)
        size += len(row.get("body") or "")
        refuse_too_much(size)
        yield row


def listmonk(rows: Iterable[Mapping[str, Any]], wanted: Wanted) -> Found:
    collected, rows = Collected("listmonk", wanted), list(rows)
    # Off by default, so it says something only if some campaigns are in the archive.
    has_archive = any(_is_archived(row) for row in rows)
    for row in rows:
        title = title_of(text_at(row, "subject"), _TEMPLATE) or one_line(text_at(row, "name"))
        key = f"listmonk {text_at(row, 'uuid') or row.get('id')}"
        times = filter(None, (text_at(row, name) for name in ("started_at", "send_at", "updated_at")))
        collected.add(
            key,
            title,
            parsed_moment(next(times, "")),
            partial(_listmonk_page, row),
            why=_why_not_listmonk(row),
            names=[row.get("uuid"), row.get("archive_slug")],
            size=len(text_at(row, "body")),
            is_private=has_archive and not _is_archived(row),
        )
    return collected.found()


def _is_archived(row: Mapping[str, Any]) -> bool:
    return row.get("archive") in (True, "t")


def _why_not_listmonk(row: Mapping[str, Any]) -> str:
    if row.get("status") != "finished":
        return found.NOT_SENT
    if row.get("type") == "optin":
        return "It asked people to confirm, so it isn’t an issue."
    return "" if text_at(row, "body").strip() else found.EMPTY


def _listmonk_page(row: Mapping[str, Any]) -> str:
    body = _TRACKED_END.sub("", _TEMPLATE.sub("", _TRACKED.sub(r"\1", text_at(row, "body"))))
    match row.get("content_type"):
        case "markdown":
            return markdown_html(body)
        case "plain":
            paragraphs = (part.strip() for part in body.replace("\r", "").split("\n\n"))
            return "".join(
                f"<p>{escape(part, quote=False).replace(chr(10), '<br>')}</p>" for part in paragraphs if part
            )
    return body


def is_beehiiv(head: bytes) -> bool:
    return set(re.split(rb"\W+", head.partition(b"\n")[0])) >= {b"web_title", b"content_html"}


def beehiiv(files: Iterable[Iterable[bytes]], wanted: Wanted) -> Found:
    """The CSV file of posts, whose column `content_html` has whole emails. Raises Refused."""
    collected, keys, size, address = Collected("beehiiv", wanted), set[str](), 0, ""
    with _CELLS:
        # The limit is that of the process. Lists of subscribers need the lower one.
        before = csv.field_size_limit(MOST_PAGE)
        try:
            for row in (row for pieces in files for row in csv_rows(lines_of(pieces))):
                url, html = row.get("url", ""), row.get("content_html", "")
                key = f"beehiiv {row.get('id') or url or row.get('web_title')}"
                size += len(html)
                refuse_too_much(size)
                if key not in keys:
                    _add_beehiiv(collected, row, key, url, zlib.compress(html.encode(), 1))
                keys.add(key)
                refuse_too_many(len(keys))
                address = address or "/".join(url.split("/")[:3])
        finally:
            csv.field_size_limit(before)
    return collected.found(address)


def _add_beehiiv(collected: Collected, row: dict[str, str], key: str, url: str, packed: bytes) -> None:
    title = title_of(row.get("web_title") or row.get("email_subject_line", ""), _TEMPLATE)
    audience = (row.get("audience") or row.get("web_audiences", "")).lower()
    why = "" if row.get("content_html") else found.EMPTY
    if row.get("status") != "confirmed":
        why = "It’s archived." if row.get("status") == "archived" else found.NOT_SENT
    elif audience not in (*_FREE, *_PAID) and not collected.wanted.with_paid:
        why = MAY_BE_PAID
    collected.add(
        key,
        title,
        parsed_moment(row.get("publish_date") or row.get("created_at")),
        partial(_beehiiv_page, packed, title),
        why=why,
        names=[url.partition("?")[0].rstrip("/").rpartition("/")[2]],
        # Scheduled posts have no page, and neither have those by email only.
        is_paid=bool(url) and audience not in _FREE,
        is_private=not url,
    )


def _beehiiv_page(packed: bytes, title: str) -> str:
    html = _BEEHIIV_TEXT.split(_TEMPLATE.sub("", zlib.decompress(packed).decode()), maxsplit=1)[-1]
    # The page has the title already.
    return _TITLE.sub(
        lambda match: "" if one_line(unescape(match[1])) == title else match[0],
        without_parts(html, _BEEHIIV_PARTS),
    )
