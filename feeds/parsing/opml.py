"""OPML 2.0 (http://opml.org/spec2.opml), a lenient reader and a strict writer.

Files that expat refuses are read tag by tag.

Additions to OPML by Miniflux, FreshRSS and Thunderbird.
"""

import codecs
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import format_datetime
from html import unescape
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from common.refused import Refused
from common.text import one_line, without_controls

# FreshRSS makes these feeds itself.
SCRAPED = frozenset({"html+xpath", "xml+xpath", "json+dotnotation", "html+xpath+json+dotnotation"})
MAX_NAMED, MAX_OPTIONS = 20, 10_000
FORCED = "#force_feed"
_IGNORED = frozenset({"", "0", "false", "null", "[]"})
MAX_BYTES = 5_000_000
MAX_FEEDS = 10_000
MAX_OUTLINES = 50_000
MAX_OUTLINE_TAGS = 20
MAX_TAG = 100
MAX_OUTLINE_TITLE = 1000
MAX_OUTLINE_ATTRIBUTES = 50
EMPTY_FILE = "The file is empty."
FILE_TOO_LARGE = "The file is larger than 5 MB. Divide it into smaller ones."
TOO_MANY_FEEDS = f"The file lists more than {MAX_FEEDS:,} feeds. Divide it into smaller ones."
NOT_OPML = (
    "This is not an OPML file: there is no outline in it. Let the other program export its feeds again."
)
NO_FEEDS = "There are no feeds in this file: none of its outlines has an xmlUrl."
LIST_DECLARES_ENTITIES = (
    "The file declares entities in a DOCTYPE, which can be an attack. Remove the DOCTYPE."
)
OUTLINE_FEED_TYPES = frozenset({"", "rss", "rss1", "atom", "feed", "podcast", "json", "jsonfeed"})
_ATTRIBUTE = re.compile(r"""([A-Za-z_][\w:.-]{0,40})\s{0,100}=\s{0,100}(?:"([^"]*)"|'([^']*)')""")
_TAG = re.compile(
    r"<(?:(?P<skipped>!--|!\[CDATA\[|\?)|(?P<entity>!ENTITY)"
    r"|(?P<end>/)?(?P<name>(?:\w{1,20}:)?(?:outline|opml|head|title|body))(?=[\s/>]))",
    re.IGNORECASE,
)
_REFERENCE = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_DECLARED = re.compile(rb"""<\?xml[^>]{0,200}\sencoding\s*=\s*["']([A-Za-z0-9_.:-]{1,40})""")
_SKIPPED = {"!--": "-->", "![CDATA[": "]]>", "?": "?>"}
_BOMS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
EMPTY_FOLDER = "channel"


@dataclass(frozen=True, slots=True)
class Extras:
    """Of an outline. `refused`: why it can't be imported; `lost`: a sentence about settings that can’t."""

    refused: str = ""
    is_paused: bool = False
    lost: str = ""
    is_thunderbird: bool = False


def extras_of(attributes: Mapping[str, str]) -> Extras:
    kind = next((value for name, value in attributes.items() if name.lower() == "type"), "").strip().lower()
    if kind in SCRAPED:
        return Extras(
            refused=f"FreshRSS makes this feed itself ({kind}). Import the site’s own feed, if it has one."
        )
    lost, secrets, is_paused, is_thunderbird = [], [], False, False
    for name, value in attributes.items():
        prefix, _, local = name.partition(":")
        match prefix.lower(), local.lower():
            case "miniflux", "disabled":
                is_paused = value.strip().lower() == "true"
            case "frss", option if option.startswith("curlopt_"):
                secrets.append(one_line(local)[:50])
            case "miniflux" | "frss", option if option != "opmlurl" and value.strip().lower() not in _IGNORED:
                lost.append(one_line(local)[:50])
            case "fz", option:
                is_thunderbird = True
                is_paused = is_paused or (option == "options" and _is_switched_off(value))
    sentences = []
    if lost:
        sentences.append(f"Not imported: {', '.join(lost[:MAX_NAMED])}.")
    if secrets:
        sentences.append(
            f"Not imported, as they may be secrets: {', '.join(secrets[:MAX_NAMED])}. If the feed needs them,"
            " add it again with its credentials."
        )
    return Extras(is_paused=is_paused, lost=" ".join(sentences), is_thunderbird=is_thunderbird)


def linked_list(attributes: Mapping[str, str]) -> str:
    """Return the address of the list that a folder of FreshRSS reads."""
    return next((value.strip() for name, value in attributes.items() if name.lower() == "frss:opmlurl"), "")


def _is_switched_off(options: str) -> bool:
    try:
        updates = json.loads(options[:MAX_OPTIONS])["updates"]
        return updates["enabled"] is False
    except (ValueError, KeyError, TypeError, RecursionError):
        return False


class OpmlError(Refused):
    """The message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Outline:
    """A feed. `line` counts from 1. `tags`: names of folders and categories.

    `folder`: as written; `categories`: last steps only.
    """

    line: int
    url: str
    title: str = ""
    site_url: str = ""
    tags: tuple[str, ...] = ()
    folder: str = ""
    categories: tuple[str, ...] = ()
    # In the other program.
    is_paused: bool = False
    # A sentence about settings that aren’t imported.
    lost: str = ""


@dataclass(frozen=True, slots=True)
class Passed:
    line: int
    title: str
    reason: str


@dataclass
class Opml:
    title: str = ""
    outlines: list[Outline] = field(default_factory=list)
    passed: list[Passed] = field(default_factory=list)
    # With feeds, or empty at the top.
    folders: list[str] = field(default_factory=list)
    # Empty ones written by `write_opml`; others are ignored.
    kept_folders: set[str] = field(default_factory=set)
    # Not well-formed.
    is_broken: bool = False


def parse_opml(body: bytes) -> Opml:
    """Raise OpmlError."""
    if len(body) > MAX_BYTES:
        raise OpmlError(FILE_TOO_LARGE)
    if not body.strip(b"\0 \t\r\n\xef\xbb\xbf\xff\xfe"):
        raise OpmlError(EMPTY_FILE)
    builder = _Builder()
    try:
        _read_strictly(body, builder)
    except OpmlError:
        raise
    except (expat.ExpatError, ValueError, LookupError):
        builder = _Builder()
        builder.found.is_broken = True
        _read_tags(_text(body), builder)
    if not builder.outlines:
        raise OpmlError(NOT_OPML)
    if not builder.found.outlines and not builder.found.passed:
        raise OpmlError(NO_FEEDS)
    return builder.found


def _read_strictly(body: bytes, builder: "_Builder") -> None:
    # Common before the XML declaration.
    stripped = body.lstrip(b" \t\r\n")
    skipped = body[: len(body) - len(stripped)].count(b"\n")
    parser = expat.ParserCreate()

    def refuse(*_: object) -> None:
        raise OpmlError(LIST_DECLARES_ENTITIES)

    parser.EntityDeclHandler = refuse
    parser.StartElementHandler = lambda name, attributes: builder.start(
        name, attributes, parser.CurrentLineNumber + skipped
    )
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.text
    parser.Parse(stripped, True)


def _text(body: bytes) -> str:
    for bom, encoding in _BOMS.items():
        if body.startswith(bom):
            return body[len(bom) :].decode(encoding, "replace")
    if b"\0" in body[:4]:
        return body.decode("utf-16-be" if body[:1] == b"\0" else "utf-16-le", "replace")
    try:
        return body.decode()
    except UnicodeDecodeError:
        declared = _DECLARED.search(body[:1000])
    # cp1252 is the default, as in browsers.
    encoding = "cp1252"
    with suppress(LookupError, ValueError):
        codec = codecs.lookup(declared.group(1).decode() if declared else "")
        if codec._is_text_encoding and codec.name not in ("utf-8", "ascii", "idna", "punycode"):
            encoding = codec.name
    return body.decode(encoding, "replace")


def _read_tags(text: str, builder: "_Builder") -> None:
    """Texts may contain a stray <."""
    line, counted, position = 1, 0, 0
    while tag := _TAG.search(text, position):
        start = tag.start()
        line, counted = line + text.count("\n", counted, start), start
        builder.text(_decoded(text[position:start]))
        if tag["entity"]:
            raise OpmlError(LIST_DECLARES_ENTITIES)
        if mark := tag["skipped"]:
            end = text.find(_SKIPPED[mark.upper()], tag.end())
            position = len(text) if end < 0 else end + len(_SKIPPED[mark.upper()])
        else:
            following = _TAG.search(text, tag.end())
            end = following.start() if following else len(text)
            attributes: dict[str, str] = {}
            position = tag.end()
            for match in () if tag["end"] else _ATTRIBUTE.finditer(text, tag.end(), end):
                attributes.setdefault(match[1], _decoded(match[2] or match[3] or ""))
                position = match.end()
            close = text.find(">", position, end)
            if not tag["end"]:
                builder.start(tag["name"], attributes, line)
            if tag["end"] or (close > 0 and text[close - 1] == "/"):
                builder.end(tag["name"])
            position = end if close < 0 else close + 1
    builder.close()


def _decoded(text: str) -> str:
    """&copy in ?a=1&copy=2 is no reference."""
    return _REFERENCE.sub(lambda reference: unescape(reference.group()), text)


@dataclass
class _OpenOutline:
    """`folder` is "" for feeds. `is_kept`: marked as a folder."""

    folder: str
    is_kept: bool
    is_empty: bool = True


class _Builder:
    def __init__(self) -> None:
        self.found = Opml()
        self.outlines = 0
        self._open: list[_OpenOutline] = []
        self._title: list[str] | None = None
        self._seen_body = False

    def start(self, name: str, attributes: Mapping[str, str], line: int) -> None:
        match _local(name):
            case "outline":
                self.outlines += 1
                if self.outlines > MAX_OUTLINES:
                    raise OpmlError(TOO_MANY_FEEDS)
                given = dict(list(attributes.items())[:MAX_OUTLINE_ATTRIBUTES])
                if self._open:
                    self._open[-1].is_empty = False
                named = {name.lower(): value for name, value in given.items()}
                kind = named.get("type", "").strip().lower()
                folder = self._feed(named, kind, extras_of(given), line)
                self._open.append(_OpenOutline(folder, kind == EMPTY_FOLDER))
            case "body":
                self._seen_body = True
            case "title" if not self._seen_body and not self.found.title:
                self._title = []

    def end(self, name: str) -> None:
        local = _local(name)
        if local == "outline" and self._open:
            ended = self._open.pop()
            if ended.is_empty and not self._open:
                self._note_folder(ended.folder)
                if ended.is_kept:
                    self.found.kept_folders.add(ended.folder)
        elif local == "title":
            self.close()

    def text(self, text: str) -> None:
        if self._title is not None and len(self._title) < MAX_OUTLINE_TITLE:
            self._title.append(text[:MAX_OUTLINE_TITLE])

    def close(self) -> None:
        if self._title is not None:
            self.found.title = one_line("".join(self._title))[:MAX_OUTLINE_TITLE]
            self._title = None

    def _feed(self, given: Mapping[str, str], kind: str, extras: Extras, line: int) -> str:
        """Note a feed, or return the folder's name."""
        title = (one_line(given.get("title", "")) or one_line(given.get("text", "")))[
            :MAX_OUTLINE_TITLE
        ].strip()
        url = given.get("xmlurl", "").strip().removesuffix(FORCED)
        if not url and kind in OUTLINE_FEED_TYPES:
            url = given.get("url", "").strip()
        reason = extras.refused or ("" if url else _why_not(given, kind))
        if not url and not reason:
            return title
        if len(self.found.outlines if url else self.found.passed) >= MAX_FEEDS:
            raise OpmlError(TOO_MANY_FEEDS)
        if reason:
            self.found.passed.append(Passed(line, title, reason))
            return title if linked_list(given) else ""
        site = without_controls(given.get("htmlurl", "").strip())
        if not re.match(r"https?://\S+\Z", site, re.IGNORECASE) or len(site) > 4000:
            site = ""
        # Depth is unlimited.
        folders = [outline.folder for outline in self._open[-MAX_OUTLINE_TAGS:] if outline.folder]
        # Thunderbird puts each feed into a folder of its name.
        if extras.is_thunderbird and folders[-1:] == [title]:
            folders.pop()
        names = list(map(_tag, folders))
        categories: list[str] = []
        for part in given.get("category", "").split(",")[:MAX_OUTLINE_TAGS]:
            # OPML 2.0: a leading slash marks a path.
            steps = (
                part.strip().split("/")[:MAX_OUTLINE_TAGS] if part.strip().startswith("/") else [part.strip()]
            )
            names += map(_tag, steps)
            categories += filter(None, map(_tag, steps[-1:]))
        tags: dict[str, str] = {}
        for name in filter(None, names):
            tags.setdefault(name.casefold(), name)
        own_title = "" if title == url else title
        folder = folders[-1] if folders else ""
        self._note_folder(folder)
        known = tuple(tags.values())[:MAX_OUTLINE_TAGS]
        self.found.outlines.append(
            Outline(
                line,
                url,
                own_title,
                site,
                known,
                folder,
                tuple(dict.fromkeys(categories)),
                is_paused=extras.is_paused,
                lost=extras.lost,
            )
        )
        return ""

    def _note_folder(self, name: str) -> None:
        if name and name not in self.found.folders[-1:] and len(self.found.folders) < MAX_FEEDS:
            self.found.folders.append(name)


def _local(name: str) -> str:
    return name.rpartition(":")[2].lower()


def _why_not(given: Mapping[str, str], kind: str) -> str:
    if kind == "include" or linked_list(given):
        return "It links to another list: import that one separately."
    if kind == "link" and given.get("url"):
        return "It is a link to a web page, not a feed."
    is_feed = "xmlurl" in given if kind in ("", "link") else kind in OUTLINE_FEED_TYPES
    return "It has no address." if is_feed else ""


def _tag(name: str) -> str:
    return one_line(name.replace(",", " ")).strip("/ ")[:MAX_TAG].strip("/ ")


@dataclass(frozen=True, slots=True)
class Listed:
    """Written to its folder or first tag. Tags become categories."""

    url: str
    title: str = ""
    site_url: str = ""
    language: str = ""
    tags: tuple[str, ...] = ()
    folder: str = ""


def write_opml(
    feeds: Iterable[Listed], *, title: str, created: datetime, first: Iterable[str] = ()
) -> Iterator[str]:
    """Yield lines in UTF-8. `first`: leading folders, even if empty."""
    folders: dict[str, list[Listed]] = {name: [] for name in first}
    rank = {name: number for number, name in enumerate(folders)}
    for feed in feeds:
        folders.setdefault(feed.folder or (feed.tags[0] if feed.tags else ""), []).append(feed)
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<opml version="2.0">\n  <head>\n'
    yield f"    <title>{escape(without_controls(title))}</title>\n"
    yield f"    <dateCreated>{format_datetime(created)}</dateCreated>\n"
    yield "    <docs>http://opml.org/spec2.opml</docs>\n  </head>\n  <body>\n"
    for name in sorted(
        folders, key=lambda name: (rank.get(name, len(rank)), name == "", name.casefold(), name)
    ):
        indent = "    " if not name else "      "
        if name:
            kind = "" if folders[name] else EMPTY_FOLDER
            yield f"    <outline{_attributes(type=kind, text=name, title=name)}>\n"
        for feed in folders[name]:
            facts = _attributes(
                type="rss",
                text=feed.title or feed.url,
                title=feed.title or feed.url,
                xmlUrl=feed.url,
                htmlUrl=feed.site_url,
                language=feed.language,
                category=",".join(feed.tags),
            )
            yield f"{indent}<outline{facts}/>\n"
        if name:
            yield "    </outline>\n"
    yield "  </body>\n</opml>\n"


def _attributes(**values: str) -> str:
    given = ((name, without_controls(value)) for name, value in values.items() if value)
    return "".join(f" {name}={quoteattr(value)}" for name, value in given)
