"""Posts for letter templates: unescaped data and clean html. Pure.

Images are at most as wide as the letter: Outlook's Word engine obeys only `width`, and shows an image without
it in full size. In-page links don't work in letters and become text.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from html import escape, unescape
from typing import Any
from urllib.parse import unquote, urldefrag, urlsplit

from django.template.defaultfilters import filesizeformat
from django.utils import translation
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext

from channels.languages import dated_in
from common.directions import language_tag, text_direction, title_direction
from common.formats.dates import day_words
from common.html.balance import TAG, VALUES, attributes, balance, written
from common.html.clean import plain
from common.html.plain_text import WIDTH, to_text, wrapped
from common.text import one_line, shortened, words
from common.truncation import cut_to
from delivery.rendering.branding import boxed
from delivery.rendering.facts import LETTER_WIDTH, is_drawing, web_address
from delivery.rendering.shortening import shorten
from feeds.parsing.entry import Entry, Media
from feeds.parsing.pictures import files_of, pictures_beside
from subscriptions.rules.site import NAMELESS, usual_name

SMALL = 120
# Class of a picture of unknown size alone on its line. Icons among words stay as they are.
FULL = "full"

_LENGTH = re.compile(r"\s*(\d{1,5})(?:\.\d*)?\s*(px|%)?\s*")
_PHOTO = re.compile(r"\.(?:jpe?g|webp|avif|heic)\Z", re.IGNORECASE)
# Innermost tables.
_TABLE = re.compile(rf"<table({VALUES})>((?:(?!<table).)*?</table>)", re.DOTALL)
_LAYOUT_TABLE = re.compile(r'<table(?![^<>]* class="grid")')
_LAYOUT = re.compile(r"<(?:img|p|div|ul|ol|h[1-6]|figure|blockquote|center)\b")
# A list of links within the page, with its heading.
_CONTENTS = re.compile(
    r"(?:<(h[1-6]|p)\b[^>]*>[^<]{0,40}</\1>\s*)?(?:<(?:div|nav)\b[^>]*>\s*)*<[uo]l\b[^>]*>"
    r"(?:\s|</?(?:[uo]l|li|p|span|strong|b)\b[^>]*>|<a\b[^>]*\shref=\"[^\"]*#[^\"]*\"[^>]*>(?:(?!</?a\b).)*</a>)+",
    re.DOTALL,
)
_BACK = re.compile(r"[\s↩↑^⏎\ufe0e\ufe0f]*")
# Targets that exist only on the post's page.
_ON_THE_WEB = re.compile(r"comment|respond|disqus|reply|more-\d", re.IGNORECASE)
_BLOCKS = words(
    "p div figure figcaption center td th li dd blockquote br hr h1 h2 h3 h4 h5 h6 details summary"
    " address article aside footer header main nav section"
)
_AROUND = frozenset(("a", "span", "em", "strong", "b", "i"))
_LOOK_AT = 10
# Unknown to mail programs, so they get a div.
_INSTEAD = words("address article aside details footer header main nav section summary")
LONGEST_POST_TITLE = 300
# Two lines on a phone.
EXCERPT = 160
FULL_POST, TITLES = "full", "titles"
_PICTURE = re.compile(r'<img\b[^<>]*?\ssrc="([^"]+)"')
MOST_LETTER_MEDIA = 10


def for_letter(html: str, *, page: str) -> str:
    """Adapt html to LETTER_WIDTH. `page` is the post's address."""
    if "<" not in html:
        return html
    html = _TABLE.sub(_table, "".join(_Writer(html, page).pieces()))
    return _LAYOUT_TABLE.sub('<table role="presentation"', html) if "<table" in html else html


def _table(match: re.Match[str]) -> str:
    """Add grid lines to tables of data, but not to a picture above its caption."""
    is_grid = "<th" in match[2] or not _LAYOUT.search(match[2])
    return f'<table{match[1]} class="grid">{match[2]}' if is_grid else match[0]


class _Writer:
    """Single pass over the tags."""

    def __init__(self, html: str, page: str) -> None:
        self.html, self.page = html, urldefrag(page)[0] if page else ""
        self.tags = list(TAG.finditer(html))
        self.is_open: list[bool] = []

    def pieces(self) -> Sequence[str]:
        found, position, skip = [], 0, -1
        for number, tag in enumerate(self.tags):
            if number < skip:
                continue
            found.append(self.html[position : tag.start()])
            position = tag.end()
            if self._is_way_back(number):
                # The arrow back from a footnote.
                skip, position = number + 2, self.tags[number + 1].end()
            else:
                found.append(self._written(number, tag))
        return [*found, self.html[position:]]

    def _written(self, number: int, tag: re.Match[str]) -> str:
        name = tag["name"]
        if name == "img":
            return self._image(number, attributes(tag["values"]))
        if name == "a":
            if tag["end"]:
                return "</a>" if self.is_open and self.is_open.pop() else ""
            values = attributes(tag["values"])
            values.pop("rel", None)
            self.is_open.append(not self._is_in_page(values.get("href", "")) and "href" in values)
            return f"<a{written(values)}>" if self.is_open[-1] else ""
        if name == "bdi":
            return (
                "</span>" if tag["end"] else f"<span{written({'dir': 'auto'} | attributes(tag['values']))}>"
            )
        if name in _INSTEAD:
            inner = ("</strong>" if tag["end"] else "<strong>") if name == "summary" else ""
            outer = f"<{tag['end']}div>"
            return inner + outer if tag["end"] else outer + inner
        return tag[0]

    def _is_in_page(self, href: str) -> bool:
        place, fragment = urldefrag(href)
        return bool(fragment) and place in ("", self.page) and not _ON_THE_WEB.match(fragment)

    def _is_way_back(self, number: int) -> bool:
        tag, after = self.tags[number], self.tags[number + 1 : number + 2]
        if tag["name"] != "a" or tag["end"] or not after or after[0]["name"] != "a" or not after[0]["end"]:
            return False
        between = self.html[tag.end() : after[0].start()]
        return self._is_in_page(attributes(tag["values"]).get("href", "")) and bool(_BACK.fullmatch(between))

    def _image(self, number: int, values: dict[str, str]) -> str:
        if not web_address(values.get("src", "")):
            return escape(values.get("alt", ""))
        width, height = _length(values.get("width", "")), _length(values.get("height", ""))
        if is_drawing(values["src"]):
            return self._drawing(number, values)
        kept = {name: values[name] for name in ("src", "title", "lang", "dir") if values.get(name)}
        kept["alt"] = values.get("alt", "").strip() or values.get("title", "")
        if width:
            kept["width"] = str(min(width, LETTER_WIDTH))
            # A large known height would leave a gap when images are off.
            if height and height <= SMALL and "%" not in values["width"] + values["height"]:
                kept["height"] = str(height)
        elif height and height <= SMALL and "%" not in values["height"]:
            kept |= {"height": str(height), "style": f"height:{height}px"}
        else:
            # Photographs may be side by side.
            beside = {"img"} if _PHOTO.search(urlsplit(values["src"]).path) else set()
            is_alone = self._ends(number, -1, beside) and self._ends(number, 1, beside)
            if is_alone and not self._is_beside_cells(self.tags[number].start()):
                kept |= {"width": str(LETTER_WIDTH), "class": FULL}
        return f"<img{written(kept)}>"

    def _is_beside_cells(self, at: int) -> bool:
        """Return whether the row has other cells, for which a wide picture would leave no room."""
        _, row, before = self.html[max(0, at - 5_000) : at].rpartition("<tr")
        cells = before + self.html[at : at + 5_000].partition("</tr")[0]
        return bool(row) and "</tr" not in before and cells.count("<td") + cells.count("<th") > 1

    def _drawing(self, number: int, values: dict[str, str]) -> str:
        """Return words, linked to the post."""
        is_alone = self._ends(number, -1, set()) and self._ends(number, 1, set())
        name = unquote(urlsplit(values["src"]).path.rpartition("/")[2]) if is_alone else ""
        words = escape(values.get("alt", "").strip() or values.get("title", "").strip() or name)
        is_link = not words or any(self.is_open) or not web_address(self.page)
        return words if is_link else f'<a href="{escape(self.page)}">{words}</a>'

    def _ends(self, number: int, step: int, beside: set[str]) -> bool:
        """Return whether the image's line has no words before (-1) or after (1) it."""
        for at in range(number, number + step * _LOOK_AT, step):
            there = at + step
            start = self.tags[min(at, there)].end() if min(at, there) >= 0 else 0
            end = self.tags[max(at, there)].start() if max(at, there) < len(self.tags) else len(self.html)
            if self.html[start:end].replace("&nbsp;", "").strip():
                return False
            if not 0 <= there < len(self.tags) or self.tags[there]["name"] in _BLOCKS | beside:
                return True
            if self.tags[there]["name"] not in _AROUND:
                return False
        return False


def _length(text: str) -> int | None:
    """Return pixels; percentages are relative to the letter."""
    match = _LENGTH.fullmatch(text)
    if match is None or not int(match[1]):
        return None
    return max(1, LETTER_WIDTH * min(int(match[1]), 100) // 100) if match[2] == "%" else int(match[1])


@dataclass(frozen=True, slots=True)
class Image:
    url: str
    alt: str = ""
    width: int = LETTER_WIDTH


@dataclass(frozen=True, slots=True)
class Attachment:
    """Sound, film or other file. `detail`: type and size, if known."""

    url: str
    name: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class LetterPost:
    """`html` is safe; `is_cut`: there is more, at `more`.

    `shows_date` is False if the letter's header shows the same day.
    """

    title: str
    link: str
    authors: str
    date: str
    html: SafeString
    text: str
    excerpt: str
    top_image: Image | None
    images: tuple[Image, ...]
    attachments: tuple[Attachment, ...]
    language: str
    direction: str
    title_direction: str = "ltr"
    is_cut: bool = False
    more: str = ""
    shows_date: bool = True
    # The host of `link`, "" for an IP address; and how much is shown.
    site: str = ""
    shown: str = FULL_POST
    # On the page.
    number: int = 0

    @property
    def heading(self) -> str:
        """The title; without one, the first words if titles are all that is shown."""
        words = shortened(self.excerpt, 100) or gettext("Untitled post")
        return self.title or (words if self.shown == TITLES else "")

    @property
    def underline(self) -> str:
        return "=" * min(len(self.heading), WIDTH)


def brief_post(post: LetterPost, entry: Entry, content: str) -> LetterPost:
    """Reduce the post to its picture and first lines, or to its title."""
    if content == TITLES:
        changes: dict[str, Any] = {"html": SafeString(), "text": "", "top_image": None, "is_cut": True}
    else:
        pictures = (post.top_image, *post.images, Image(picture_of(entry)))
        lines = cut_to(opening(entry), EXCERPT)
        changes = {
            "html": format_html("<p>{}</p>", lines) if lines else SafeString(),
            "text": "\n".join(wrapped(lines)),
            "top_image": next((each for each in pictures if each and each.url), None),
            "is_cut": lines != plain(entry.html),
        }
    return replace(post, **changes, images=(), attachments=(), shown=content)


def opening(entry: Entry) -> str:
    """Return the warning or the text, up to the first table and without a table of contents."""
    html = entry.html[:5000]
    if "#" in html:
        html = _CONTENTS.sub(" ", html)
    return entry.warning or plain(html.partition("<table")[0]) or plain(html)


def site_of(link: str) -> str:
    """Return the host for readers, without www; "" for an IP address."""
    host = (urlsplit(link).hostname or "").removeprefix("www.")
    return "" if usual_name(host) == NAMELESS else host


def picture_of(stood: Entry) -> str:
    """Return the first picture's address for a link preview, or ""."""
    if stood.sensitive:
        return ""
    named = [medium.url for medium in stood.media if medium.is_image]
    found = _PICTURE.search(stood.html) if "<img" in stood.html else None
    inside = [unescape(found[1])] if found else []
    pictures = map(web_address, (*filter(None, (stood.image,)), *named, *inside))
    return next((url for url in pictures if url and not is_drawing(url)), "")


def first_picture(entries: Iterable[Entry]) -> str:
    return next(filter(None, map(picture_of, entries)), "")


def letter_html(entry: Entry) -> str:
    """Return clean html for a letter. Its length decides the post's share of the letter."""
    return for_letter(balance(entry.html), page=entry.base or entry.link)


def letter_post(
    entry: Entry,
    *,
    whole: str,
    share: int,
    zone: tzinfo,
    archive_url: str,
    newsletter_language: str,
    zone_name: str = "UTC",
    level: int = 2,
    most_media: int = MOST_LETTER_MEDIA,
) -> LetterPost:
    """Build the post; `whole` is its `letter_html`, cut at `share` characters. Headings begin at `level`."""
    content = shorten(whole, share)
    top, others = _images(entry)
    files = [medium for medium in files_of(entry) if web_address(medium.url)]
    files += [Media(each.url, alt=each.alt) for each in pictures_beside(entry) if is_drawing(each.url)]
    files = files[:MOST_LETTER_MEDIA]
    attachments = []
    for medium in files[:most_media]:
        parts = urlsplit(medium.url)
        name = one_line(medium.alt or unquote(parts.path.rpartition("/")[2])) or parts.netloc
        size = filesizeformat(medium.length) if medium.length else ""
        detail = ", ".join(filter(None, (one_line(medium.type), size)))
        attachments.append(Attachment(medium.url, shortened(name, 100), shortened(detail, 100)))
    title = shortened(one_line(entry.title), LONGEST_POST_TITLE)
    words = opening(entry)
    language = language_tag(entry.language)
    runs = text_direction(words or title, language or newsletter_language)
    is_cut = content != whole or max(len(others), len(files)) > most_media
    with translation.override(dated_in(newsletter_language, zone_name)):
        day = day_words(entry.published.astimezone(zone)) if entry.published else ""
    return LetterPost(
        title=title,
        link=web_address(entry.link),
        authors=shortened(", ".join(one_line(author) for author in entry.authors), LONGEST_POST_TITLE),
        date=day,
        html=mark_safe(boxed(content, level=level)),  # noqa: S308 (cleaned before it is stored)
        text=to_text(content),
        excerpt=shortened(words, 180),
        top_image=top,
        images=others[:most_media],
        attachments=tuple(attachments),
        language=language,
        direction=runs,
        title_direction=title_direction(title, runs),
        is_cut=is_cut,
        # A whole post without a page of its own has nothing to read elsewhere.
        more=web_address(entry.link) or (archive_url if is_cut else ""),
        site=site_of(web_address(entry.link)),
    )


def _images(entry: Entry) -> tuple[Image | None, tuple[Image, ...]]:
    """Return one picture for the top, or several for below, without the ones in the text."""
    new = [
        Image(one.url, one_line(one.alt), min(one.width or LETTER_WIDTH, LETTER_WIDTH))
        for one in pictures_beside(entry)[:MOST_LETTER_MEDIA]
        if not is_drawing(one.url)
    ]
    is_single = sum(medium.is_image for medium in entry.media) <= 1
    return (new[0], ()) if is_single and new else (None, tuple(new))
