"""Links as they are posted, and as a service gives them back. Pure."""

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from html import unescape
from urllib.parse import quote, unquote, urlsplit

from channels.http.measures import CODE_POINTS_PER_GRAPHEME, graphemes

# https://docs.joinmastodon.org/user/posting/#text: a link counts as 23, `@user@host` as `@user`.
_LINK = re.compile(r"https?://[^\s<>\"]+", re.IGNORECASE)
# What Mastodon takes for a link for certain: a domain that every list of them has, and nothing in the path
# that it might leave out at the end. Of anything else the instance may take a part for a link, and count the
# rest in full.
_CERTAIN = re.compile(
    r"https?://(?:[a-z0-9-]+\.)+(?:com|org|net|edu|gov|info|io|dev|app|blog|[a-z]{2})(?::\d+)?"
    r"(?:[/?](?:[\w\-.~/?&=%+:@,;!]*[\w/])?)?",
    re.IGNORECASE | re.ASCII,
)
# Directly after these a link is none (twitter-text, validUrlPrecedingChars).
_NO_LINK_AFTER = "@＠$#＃_\u202a\u202b\u202c\u202d\u202e"
_REMOTE_MENTION = re.compile(r"(?<![\w/])(@[a-z0-9_]+)@[a-z0-9.-]+[a-z0-9]+", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True)
class StatusLimits:
    """`characters` of a status in graphemes, its warning included; `per_url` is the price of a link."""

    characters: int = 500
    per_url: int = 23

    @property
    def smaller(self) -> "StatusLimits":
        """With room to spare."""
        return StatusLimits(self.characters * 9 // 10, self.per_url)


def status_length(text: str, per_url: int) -> int:
    """Graphemes of the text, a link at its price, `@user@host` as `@user`: never less than the instance's."""

    def price(link: re.Match[str]) -> str:
        before = link.string[link.start() - 1] if link.start() else " "
        is_certain = _CERTAIN.fullmatch(link[0]) and not (before.isalnum() or before in _NO_LINK_AFTER)
        return "x" * (per_url if is_certain else per_url + graphemes(link[0]))

    return graphemes(_REMOTE_MENTION.sub(r"\1", _LINK.sub(price, text)))


def fits_status(limits: StatusLimits, *, warning: str = "") -> Callable[[str], bool]:
    """Whether a text fits beside the content warning, which counts as it stands, links in full."""
    left = limits.characters - graphemes(warning)

    def fits(text: str) -> bool:
        # Before it is counted out: hostile texts have very many code points in a grapheme, or very many.
        shortest = _LINK.sub("x" * limits.per_url, text)
        if len(shortest) > max(left, 1) * CODE_POINTS_PER_GRAPHEME:
            return False
        return status_length(text, limits.per_url) <= left

    return fits


# RFC 3986 §2.2 and §2.3: reserved and unreserved characters, and the percent sign of existing escapes.
SAFE = "!#$&'()*+,/:;=?@[]~-._%"
DEFAULT_PORTS = {"http": 80, "https": 443}
# Broader than what Mastodon takes for a mention: not after /, = or a letter, where it is part of a link.
MENTION = re.compile(r"(?<![A-Za-z0-9_/=])@(?=[A-Za-z0-9_])")
# Letters that have to be alike.
BEGINNING = 40
WORD_JOINER = "\u2060"
_HREF = re.compile(r"""<a\s[^<>]*?\bhref\s*=\s*(?:"([^"]*)"|'([^']*)')""", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*>")
# Invisible: marks of direction, joiners, spaces without width. They turn around the text that follows.
_INVISIBLE = r"\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff"
# Characters that end or break a link: white space, control characters, delimiters, lone surrogates.
_BREAKS = re.compile(rf'[\s{_INVISIBLE}\x00-\x1f\x7f<>"\\^`{{|}}\ud800-\udfff]')
_AROUND = re.compile(rf"\A[\s{_INVISIBLE}]+|[\s{_INVISIBLE}]+\Z")


def postable(link: str) -> str:
    """The link without what would end or break it in a text, or mention anyone; "" when it is no web address.

    Mastodon looks for mentions in links, too. A name and password before the host are left out: nobody's
    password is public.
    """
    bare = _AROUND.sub("", link)
    escaped = _BREAKS.sub(lambda match: quote(match[0], errors="replace"), bare)
    try:
        parts = urlsplit(escaped)
        usable = parts.scheme.lower() in DEFAULT_PORTS and bool(parts.hostname)
    except ValueError:
        return ""
    _, _, host = parts.netloc.rpartition("@")
    rest = escaped[len(parts.scheme) + len("://") + len(parts.netloc) :]
    return f"{parts.scheme}://{host}{MENTION.sub('%40', rest)}" if usable else ""


def normalised(url: str) -> str:
    """The same for all spellings of a URL: case of scheme and host, default port, escapes."""
    try:
        parts = urlsplit(url.strip())
        scheme, host, port = parts.scheme.lower(), (parts.hostname or "").lower(), parts.port
    except ValueError:
        return url.strip()
    at = "" if port in (None, DEFAULT_PORTS.get(scheme)) else f":{port}"
    query = f"?{_escaped(parts.query)}" if parts.query else ""
    fragment = f"#{_escaped(parts.fragment)}" if parts.fragment else ""
    # A host that the DNS cannot hold is compared as it is.
    with suppress(UnicodeError):
        host = host if host.isascii() else host.encode("idna").decode()
    return f"{scheme}://{host}{at}{_escaped(parts.path) or '/'}{query}{fragment}"


def holds(content: str, link: str) -> bool:
    """Whether the html of a status has a link to `link`, or shows it in its text."""
    wanted = normalised(link)
    if any(normalised(unescape(match[1] or match[2] or "")) == wanted for match in _HREF.finditer(content)):
        return True
    return any(normalised(word) == wanted for word in shown_text(content).split() if "://" in word)


def unmentioned(text: str) -> str:
    """`@someone` broken with an invisible joiner, so that it mentions nobody."""
    return MENTION.sub(f"@{WORD_JOINER}", text)


def is_of(content: str, *, text: str, link: str = "", whole: bool = False) -> bool:
    """Whether the html of a status has the link, and begins with the text: several newsletters may post one
    link. Services write spaces and lines otherwise, and what follows may have been shortened otherwise.

    `whole`: compare the whole text, where there is no link to tell posts apart.
    """
    most = None if whole else BEGINNING
    shown, wanted = ("".join(one.split())[:most] for one in (shown_text(content), text))
    return shown == wanted and (not link or holds(content, link))


def shown_text(content: str) -> str:
    """What the html of a status shows, without its markup."""
    return unescape(_TAG.sub("", content))


def _escaped(part: str) -> str:
    """Escapes of plain letters undone, everything else escaped in capitals; what means something stays."""
    settled = re.sub(r"%([0-9a-fA-F]{2})", _settled, part)
    return quote(settled, safe=SAFE, errors="replace")


def _settled(match: re.Match[str]) -> str:
    char = unquote(match.group(0), errors="replace")
    return char if re.fullmatch(r"[A-Za-z0-9._~-]", char) else match.group(0).upper()
