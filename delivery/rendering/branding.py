"""Branding of letters.

Quotes, code, wide tables and headings of posts, as mail programs can show them. Pure.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from html import escape
from types import MappingProxyType

from django.utils.safestring import SafeString, mark_safe

from channels.languages import DEFAULT_LANGUAGE, spoken
from common.directions import direction, language_tag
from common.html.balance import VALUES, attributes
from common.html.clean import plain
from common.html.numbering import integer
from common.html.plain_text import to_text
from common.text import one_line, without_controls
from delivery.rendering.facts import LETTER_WIDTH, LOGO_WIDTH, USUAL_THEME, ThemeFacts, web_address
from subscriptions.rules.colours import Palette, palettes
from subscriptions.rules.site import USUAL_SITE, SiteFacts

# Of a row on a phone, at 13 pixels; lines break at blanks only.
MOST_COLUMNS, MOST_CHARACTERS = 6, 52
LOWEST_HEADING = 6
_HEADING = re.compile(r"(</?h)([1-6])(?=[\s>])")
# Word has padding and borders in cells only.
_BOX = '<table class="box" role="presentation" width="100%"><tr><td class="{}">'
_BOX_END = "</td></tr></table>"
_QUOTE = re.compile(r"</?blockquote\b[^<>]*>")
_CODE = re.compile(r"<pre\b([^<>]*)>\n*(.*?)\n*</pre>", re.DOTALL)
_BLANKS = re.compile(r"<[^<>]*>|\A +|\n *| {2,}")
_GRID = re.compile(rf'<table(?:{VALUES}) class="grid">.*?</table>', re.DOTALL)
_CELL = re.compile(rf"<t[dh]({VALUES})>(.*?)</t[dh]>", re.DOTALL)
# Replaced by a width that always or never matches, in html, `<style>` and media attributes.
_PREFERS = re.compile(r"prefers-color-scheme\s*:\s*(dark|light)", re.IGNORECASE)
_SCHEMES = re.compile(r"(color-scheme\s*:\s*|name=\"color-scheme\" content=\")light dark", re.IGNORECASE)
_ALWAYS, _NEVER = "min-width: 0px", "max-width: 0px"
_LINK = re.compile(
    r"\[(?P<words>[^\[\]\n]{1,200})\]\((?P<to>https?://[^\s()<>\"]{1,1000}|mailto:[^\s()<>\"]{1,300})\)"
    r"|(?P<url>https?://[^\s<>\"]{1,1000}[^\s<>\".,;:!?'()\[\]])"
    r"|(?P<mail>[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8})"
)
_PARAGRAPHS = re.compile(r"\n[ \t]*\n\s*")
# Safe: CSS needs their quotes.
SERIF = SafeString('Charter, "Iowan Old Style", Georgia, Cambria, "Times New Roman", serif')
SANS = SafeString('system-ui, -apple-system, "Segoe UI", Roboto, Helvetica, Arial, sans-serif')
OUTLOOK_SERIF = SafeString('Georgia, "Times New Roman", serif')
OUTLOOK_SANS = SafeString('"Segoe UI", Arial, sans-serif')


def by_day(html: str) -> str:
    return _shown(html, "light")


def by_night(html: str) -> str:
    return _shown(html, "dark")


def _shown(html: str, scheme: str) -> str:
    html = _PREFERS.sub(lambda match: _ALWAYS if match[1].lower() == scheme else _NEVER, html)
    return _SCHEMES.sub(lambda match: f"{match[1]}{scheme}", html)


def as_html(text: str) -> SafeString:
    """Return safe html with paragraphs and links: `[words](https://…)` and bare addresses."""
    paragraphs = []
    for paragraph in filter(None, _PARAGRAPHS.split(_tidy(text))):
        parts, position = [], 0
        for match in _LINK.finditer(paragraph):
            to = match["to"] or match["url"] or f"mailto:{match['mail']}"
            anchor = f'<a href="{escape(to)}">{escape(match["words"] or match[0])}</a>'
            parts += [escape(paragraph[position : match.start()]), anchor]
            position = match.end()
        html = "".join([*parts, escape(paragraph[position:])]).replace("\n", "<br>")
        paragraphs.append(f'<p dir="auto">{html}</p>')
    return mark_safe("".join(paragraphs))  # noqa: S308 (escaped)


def as_text(text: str) -> str:
    """Return the same as plain text, with links as `words (https://…)`."""
    return _LINK.sub(
        lambda match: (
            f"{match['words']} ({match['to'].removeprefix('mailto:')})" if match["to"] else match[0]
        ),
        _tidy(text),
    )


def _tidy(text: str) -> str:
    return without_controls(text.replace("\r\n", "\n").replace("\r", "\n")).strip()


@dataclass(frozen=True, slots=True)
class Logo:
    """Logo. Without the text `says` in it, the letter shows the name beside it."""

    url: str
    width: int
    says: str = ""


@dataclass(frozen=True, slots=True)
class HeaderPicture:
    """Picture as wide as the letter; `says` is its alternative text."""

    url: str
    says: str = ""


@dataclass(frozen=True, slots=True)
class Style:
    """Fonts are CSS lists, sizes CSS pixels. `band`: the masthead is a band in the accent."""

    text: SafeString
    # Outlook's Word engine takes an unknown first font for Times New Roman.
    outlook: SafeString
    size: int = 18
    name_size: int = 32
    name_weight: int = 700
    band: bool = False


STYLES: Mapping[str, Style] = {
    "serif": Style(SERIF, OUTLOOK_SERIF),
    "sans": Style(SANS, OUTLOOK_SANS, size=17, name_size=28),
    "bold": Style(SANS, OUTLOOK_SANS, size=17, name_size=38, name_weight=800, band=True),
}


@dataclass(frozen=True, slots=True)
class Branding:
    """Branding of a newsletter, with its name for readers. `header` and `footer` are safe html."""

    name: str
    language: str
    direction: str
    day: Palette
    night: Palette
    logo: Logo | None
    header_picture: HeaderPicture | None
    header: SafeString
    header_text: str
    footer: SafeString
    footer_text: str
    postal_address: str
    params: Mapping[str, str]
    style: Style = STYLES["serif"]

    @property
    def words(self) -> SafeString:
        """Attributes of our own words, unless they are in the newsletter's language."""
        language = spoken(self.language)
        is_same = language.partition("-")[0] == self.language.partition("-")[0]
        tags = "" if is_same else f' lang="{language}" dir="{direction(language)}"'
        return mark_safe(tags)  # noqa: S308 (one of our languages)

    @property
    def accent(self) -> str:
        return self.day.accent

    @property
    def accent_dark(self) -> str:
        return self.night.accent


def look(
    *,
    name: str,
    language: str,
    params: Mapping[str, str],
    accent: str = "",
    theme: ThemeFacts = USUAL_THEME,
    site: SiteFacts = USUAL_SITE,
) -> Branding:
    """Build the branding.

    Precedence: the theme, `accent`, the parameters `accent` and `postal_address`, the site.
    """
    logo = logo_of(theme)
    # A logo is drawn for a plain ground.
    style = STYLES.get(theme.style, STYLES["serif"])
    day, night = palettes(theme.accent or accent or params.get("accent", "") or site.accent, theme.background)
    return Branding(
        name=one_line(name),
        language=language_tag(language) or DEFAULT_LANGUAGE,
        direction=direction(language),
        day=day,
        night=night,
        logo=logo,
        header_picture=header_picture_of(theme),
        header=as_html(theme.header),
        header_text=as_text(theme.header),
        footer=as_html(theme.footer),
        footer_text=as_text(theme.footer),
        postal_address=theme.postal_address.strip() or params.get("postal_address", "").strip(),
        params=MappingProxyType(dict(params)),
        style=style if logo is None else replace(style, band=False),
    )


def logo_of(theme: ThemeFacts) -> Logo | None:
    url = web_address(theme.logo_url)
    width = min(theme.logo_width or LOGO_WIDTH, LETTER_WIDTH)
    return Logo(url, width, one_line(theme.logo_alt)) if url else None


def header_picture_of(theme: ThemeFacts) -> HeaderPicture | None:
    url = web_address(theme.header_picture_url)
    return HeaderPicture(url, one_line(theme.header_picture_alt)) if url else None


def boxed(html: str, *, level: int) -> str:
    """Write quotes and code as tables of one cell, wide tables as lines. Move headings to `level`."""
    html = shifted(html, level)
    if "<blockquote" in html:
        box = _BOX.format("quote")
        html = _QUOTE.sub(lambda tag: _BOX_END + tag[0] if tag[0][1] == "/" else tag[0] + box, html)
    if "<pre" in html:
        html = _CODE.sub(_code, html)
    return _GRID.sub(_table, html) if 'class="grid"' in html else html


def shifted(html: str, level: int) -> str:
    """Move headings to `level` and below, without gaps."""
    if "<h" not in html:
        return html
    used = sorted({int(match[2]) for match in _HEADING.finditer(html)})
    steps = {number: min(level + place, LOWEST_HEADING) for place, number in enumerate(used)}
    return _HEADING.sub(lambda match: f"{match[1]}{steps[int(match[2])]}", html)


def _code(match: re.Match[str]) -> str:
    """Keep lines and indents without `white-space`, which Samsung's program lacks."""
    html = _BLANKS.sub(
        lambda part: part[0] if part[0][0] == "<" else part[0].replace(" ", "&nbsp;").replace("\n", "<br>"),
        match[2].replace("\t", "    "),
    )
    return f'<div class="code"{match[1]}>{_BOX.format("code")}{html}{_BOX_END}</div>'


def _table(match: re.Match[str]) -> str:
    """Write a table of words that is wider than a phone as lines of "heading: value"."""
    for row in match[0].split("</tr>") if "<img" not in match[0] else ():
        cells = _CELL.findall(row)
        columns = sum(integer(attributes(values).get("colspan", ""), otherwise=1) for values, _ in cells)
        words = (max(map(len, plain(html).split()), default=0) + 1 for _, html in cells)
        if columns > MOST_COLUMNS or sum(words) > MOST_CHARACTERS:
            return as_html(to_text(match[0], width=None))
    return match[0]
