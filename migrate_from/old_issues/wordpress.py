"""WordPress's export, WXR 1.0 to 1.2: RSS with posts as they are stored, not as they are shown.

Finding out which program wrote an export, and reading it.
"""

import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.parsers import expat

from common.archives import Budget, pieces_of
from common.body_limits import MEGABYTE
from common.formats.pg_dump import refuse_unless_plain
from common.formats.written_dates import parsed_moment
from common.html.titles import plain_title
from common.refused import Refused
from common.text import words
from migrate_from.old_issues import dumps, found, hosted
from migrate_from.old_issues.found import (
    MOST_JSON,
    MOST_PAGE,
    MOST_TEXT,
    Archive,
    Collected,
    Found,
    Wanted,
    json_of,
    opened_zip,
)

UNKNOWN = (
    "This isn’t an export with issues that we know. Use the zip file of Substack, Mailchimp or Buttondown,"
    " the JSON file of Ghost, the XML file of WordPress, the CSV file of beehiiv, or listmonk’s campaigns."
)
# Of a zip file.
MOST_TRIED = 1_000
NAMESPACE = b"http://wordpress.org/export/"
TOO_COMPLEX = "{} has more or larger elements than an export of WordPress."
# The parser keeps a tag or comment in memory until its end.
_LARGEST_TAG = 2 * MEGABYTE
_DEEPEST = 20
_MOST_ELEMENTS = 10_000_000
# Of one post.
_MOST_VALUES = 5_000
_LONGEST_VALUE = 2_000
_INTERNAL = words("attachment revision nav_menu_item custom_css customize_changeset oembed_cache feedback")
_PAID_PART = re.compile(r"<!--\s*wp:(?:jetpack/paywall|premium-content/)")
# Of plugins that show a part of a post to members only.
_MEMBERS_PART = re.compile(
    r"\[/[\w-]{0,40}(?:member|mepr|restrict|paywall|premium|private|s2if|wlm)[\w-]{0,40}\]", re.I
)
_FORMS = frozenset(("wp-block-jetpack-subscriptions", "sharedaddy", "jp-relatedposts", "mailpoet_form"))
_COMMENT = re.compile("<!--[^<>]*-->")
_CAPTION = re.compile(
    r"\[caption\b([^\[\]]*)\](\s*(?:<a\b[^<>]*>\s*)?<img\b[^<>]*>(?:\s*</a>)?)([^\[]*)\[/caption\]", re.I
)
# Before WordPress 3.4 it was a value.
_OLD_CAPTION = re.compile(r'\scaption="([^"]*)"')
# [gallery ids="1,2"], [embed], [/embed]
_SHORTCODE = re.compile(r"(?<!\[)\[(/?)([a-zA-Z][\w-]{0,40})((?:\s[^\[\]]{0,2000})?)\](?!\])")
_SHORTCODE_END = re.compile(r"\[/([a-zA-Z][\w-]{0,40})\]")
_SHORTCODES = words("gallery playlist audio video sharing jetpack_subscription_form contact-form")
_ADDRESS = re.compile(r"""https?://[^\s"'\[\]<>]{1,480}""")
_LINE_OF_ADDRESS = re.compile(rf"^[ \t]*({_ADDRESS.pattern})[ \t]*$", re.M)
# Text directly in the open ones is divided into paragraphs.
_OPEN = "address article aside blockquote center details div footer form header hr main nav section"
_CLOSED = words("dl figure h1 h2 h3 h4 h5 h6 ol p pre script style summary table textarea ul")
_BLOCK = re.compile(rf"<(/?)({'|'.join([*_OPEN.split(), *_CLOSED])})\b[^<>]*>", re.I)
_BLANK_LINES = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")
_BREAK = re.compile(r"<br ?/?>\Z")


def wordpress(files: Iterable[tuple[str, Iterable[bytes]]], wanted: Wanted) -> Found:
    """Read files with these names. Raises Refused."""
    reader, collected = _Reader(wanted), Collected("WordPress", wanted)
    for name, pieces in files:
        reader.read(name, pieces)
    for key, values in reader.posts.items():
        collected.add(key, **values)
    return collected.found(reader.address)


class _Reader:
    """`posts` has arguments of `Collected.add` by keys."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self.address, self._size, self._elements = "", 0, 0
        self.posts: dict[str, dict[str, Any]] = {}

    def read(self, name: str, pieces: Iterable[bytes]) -> None:
        self._file, self._path, self._row, self._fact = name, list[str](), dict[str, str](), ""
        parser, fed = expat.ParserCreate("utf-8"), 0
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = self._doctype
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler = self._text
        try:
            for text in found.texts_of(pieces):
                # Plugins write blank lines before the declaration.
                octets = (text if fed else text.lstrip()).encode()
                fed += len(octets)
                parser.Parse(octets)
                if fed - parser.CurrentByteIndex > _LARGEST_TAG:
                    raise Refused(TOO_COMPLEX.format(name))
            parser.Parse(b"", True)
        except expat.ExpatError as error:
            raise Refused(f"{name} is damaged or cut off: {error}. Export it again.") from error

    def _doctype(self, *_: object) -> None:
        raise Refused(
            f"{self._file} declares a DOCTYPE, which WordPress doesn’t, and which can be an attack."
        )

    def _start(self, name: str, _: object) -> None:
        self._path.append(name)
        self._elements += 1
        if len(self._path) > _DEEPEST or self._elements > _MOST_ELEMENTS or len(self._row) > _MOST_VALUES:
            raise Refused(TOO_COMPLEX.format(self._file))
        self._parts, self._length = list[str](), 0

    def _text(self, text: str) -> None:
        self._length += len(text)
        if self._length <= MOST_PAGE:
            self._parts.append(text)

    def _end(self, name: str) -> None:
        text = "".join(self._parts).strip()
        match self._path:
            case ["rss", "channel", "item"]:
                self._add(self._row)
                self._row = {}
            case ["rss", "channel", "item", "content:encoded"]:
                self._row[name] = text
                self._row["too long"] = "yes" if self._length > MOST_PAGE else ""
            case ["rss", "channel", "item", _]:
                self._row[name] = text[:_LONGEST_VALUE]
            case ["rss", "channel", "item", "wp:postmeta", "wp:meta_key"]:
                self._fact = text[:100]
            case ["rss", "channel", "item", "wp:postmeta", "wp:meta_value"]:
                self._row[f"meta {self._fact}"] = text[:_LONGEST_VALUE]
            case ["rss", "channel", "link"] if _ADDRESS.fullmatch(text):
                self.address = self.address or text
        self._parts = []
        self._path.pop()

    def _add(self, row: dict[str, str]) -> None:
        kind, number = row.get("wp:post_type", "post"), row.get("wp:post_id", "")
        key = f"wordpress {row.get('guid') or f'{self.address} {number}'}"
        # Of several files, an older one may have it as a draft.
        is_known = key in self.posts and not self.posts[key]["why"]
        if is_known or kind in _INTERNAL or kind.startswith("wp_"):
            return
        text = row.get("content:encoded") or row.get("excerpt:encoded", "")
        self._size += len(text)
        found.refuse_too_much(self._size)
        access = row.get("meta _jetpack_newsletter_access") or "everybody"
        is_private = row.get("wp:status") == "private" or access == "subscribers"
        # Old posts may have only the time of the site's zone.
        local, slug = parsed_moment(row.get("wp:post_date", "")), row.get("wp:post_name", "")
        end = [part for part in row.get("link", "").partition("?")[0].split("/")[3:] if part][-1:]
        # Compressed, because all texts are in memory.
        packed = zlib.compress(text.encode(), 1)
        self.posts[key] = {
            "title": plain_title(row.get("title", "")),
            "at": parsed_moment(row.get("wp:post_date_gmt", ""))
            or (local and local.replace(tzinfo=self._wanted.zone)),
            "read": lambda: shown_html(zlib.decompress(packed).decode()),
            "why": _why_not(row, kind, text),
            "names": [slug, unquote(slug), *end, number and f"p={number}"],
            "is_paid": not is_private and (access.startswith("paid") or bool(_PAID_PART.search(text))),
            "is_private": is_private or access != "everybody" or bool(_MEMBERS_PART.search(text)),
        }
        found.refuse_too_many(len(self.posts))


def _why_not(row: dict[str, str], kind: str, text: str) -> str:
    if kind != "post":
        return f"It’s a {kind[:40]}, not an issue."
    if row.get("wp:status") not in ("publish", "private"):
        return found.NOT_SENT
    if row.get("wp:post_password"):
        return "It has a password."
    if row.get("too long"):
        return f"Its text has more than {MOST_PAGE // MEGABYTE} MB."
    return "" if text else found.EMPTY


def shown_html(text: str) -> str:
    """Return a stored text as HTML to be cleaned: without shortcodes and comments, with paragraphs."""
    text = _CAPTION.sub(_figure, _COMMENT.sub("", text))
    paired = _SHORTCODES | {match[1].lower() for match in _SHORTCODE_END.finditer(text)}
    text = _SHORTCODE.sub(partial(_shortcode, paired), text)
    text = _LINE_OF_ADDRESS.sub(r'<a href="\1">\1</a>', text)
    return found.without_parts(_with_paragraphs(text), _FORMS)


def _figure(match: re.Match[str]) -> str:
    caption = match[3].strip() or "".join(_OLD_CAPTION.findall(match[1])[:1])
    return f"<figure>{match[2].strip()}<figcaption>{caption}</figcaption></figure>"


def _shortcode(paired: frozenset[str], match: re.Match[str]) -> str:
    """Keep words in brackets, such as “[sic]”, and the address of a video."""
    if not (match[1] or match[2].lower() in paired or "=" in match[3] or "://" in match[3]):
        return match[0]
    address = _ADDRESS.search(match[3])
    return f"\n\n{address[0]}\n\n" if address else ""


def _with_paragraphs(html: str) -> str:
    """Make blank lines paragraphs, and ends of lines breaks, outside of lists, tables and the like."""
    parts, position, inside, depth = list[str](), 0, "", 0
    for tag in _BLOCK.finditer(html):
        name = tag[2].lower()
        if not inside:
            parts += (_paragraphs(html[position : tag.start()]), tag[0])
            position = tag.end()
            inside, depth = name if name in _CLOSED and not tag[1] else "", 1
        elif name == inside:
            # Paragraphs may have no end.
            depth += -1 if tag[1] else name != "p"
            inside = inside if depth else ""
            parts.append(html[position : tag.end()])
            position = tag.end()
    rest = html[position:]
    return "".join([*parts, rest if inside else _paragraphs(rest)])


def _paragraphs(text: str) -> str:
    parts = (part.strip().split("\n") for part in _BLANK_LINES.split(text) if part.strip())
    broken = ("<br>\n".join(_BREAK.sub("", line.rstrip()) for line in lines) for lines in parts)
    return "".join(f"<p>{part}</p>\n" for part in broken)


@contextmanager
def opened_export(path: Path, wanted: Wanted) -> Iterator[Found]:
    """Yield the export's issues, whose texts can be read meanwhile. Raises Refused."""
    with path.open("rb") as file:
        start = file.read(4096).lstrip(b"\xef\xbb\xbf \t\r\n")
    if not start.startswith(b"PK"):
        refuse_unless_plain(start)
    if start.startswith(b"PK"):
        with opened_zip(path) as archive:
            budget, heads = Budget(MOST_TEXT), _heads(archive)
            if names := [name for name, head in heads.items() if dumps.is_beehiiv(head)]:
                yield dumps.beehiiv((archive.pieces(name, budget) for name in names), wanted)
            elif names := [name for name, head in heads.items() if NAMESPACE in head]:
                yield wordpress(((f"“{name}”", archive.pieces(name, budget)) for name in names), wanted)
            elif archive.find("posts.csv"):
                yield hosted.substack(archive, wanted)
            elif archive.find("campaigns.csv"):
                yield hosted.mailchimp(archive, wanted)
            elif archive.find("emails.json") or archive.find("emails.csv"):
                yield hosted.buttondown(archive, wanted)
            elif len(names := [name for name in archive.names if name.endswith(".json")]) == 1:
                yield _of_json(archive.read(names[0], MOST_JSON), wanted)
            else:
                raise Refused(UNKNOWN)
    elif start[:1] in (b"{", b"["):
        if path.stat().st_size > MOST_JSON:
            raise Refused(f"The JSON file has more than {MOST_JSON // MEGABYTE} MB.")
        yield _of_json(path.read_bytes(), wanted)
    elif NAMESPACE in start or dumps.is_beehiiv(start):
        with path.open("rb") as file:
            pieces = pieces_of(file, Budget(MOST_TEXT, "The file has more than {} MB. Export it in parts."))
            is_table = dumps.is_beehiiv(start)
            yield dumps.beehiiv([pieces], wanted) if is_table else wordpress([("The file", pieces)], wanted)
    elif b"--" in start or b"COPY " in start:
        with path.open(encoding="utf-8", errors="replace", newline="\n") as stream:
            yield dumps.listmonk_dump(stream, wanted)
    else:
        raise Refused(UNKNOWN)


def _heads(archive: Archive) -> dict[str, bytes]:
    """Return the beginnings of files that may be of beehiiv or WordPress, the nearest to the root first."""
    names = (name for name in archive.names if name.lower().endswith((".csv", ".xml")))
    nearest = sorted(names, key=lambda name: (name.count("/"), name))[:MOST_TRIED]
    return {name: next(archive.pieces(name, Budget(MOST_TEXT)), b"")[:4096] for name in nearest}


def _of_json(data: bytes, wanted: Wanted) -> Found:
    document = json_of(data)
    if (posts := dumps.ghost_posts(document)) is not None:
        return dumps.ghost(posts, wanted)
    # Answers of GET /api/campaigns, or of Buttondown's API.
    rows = hosted.rows_of(document)
    if rows and all("subject" in row and "content_type" in row for row in rows):
        return dumps.listmonk(rows, wanted)
    if any("publish_date" in row and "subject" in row for row in rows):
        return hosted.buttondown_answer(rows, wanted)
    raise Refused(UNKNOWN)
