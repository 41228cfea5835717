"""Links as posted, and as services return them. Pure."""

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from html import unescape
from urllib.parse import quote, unquote, urlsplit

import grapheme

Measure = Callable[[str], int]
# A grapheme may have any number of code points; longer texts are not counted.
CODE_POINTS_PER_GRAPHEME = 16
# GSM 03.38 (3GPP TS 23.038 §6.2.1): one septet each, and two for the extension table.
GSM_LETTERS = frozenset(
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿"
    "abcdefghijklmnopqrstuvwxyzäöñüà"
)
GSM_EXTENSION = frozenset("€[]{}~^\\|\f")
# A single message, and a part of several, which begins with a header of six octets.
ONE_GSM_PART, GSM_PART = 160, 153
ONE_UCS2_PART, UCS2_PART = 70, 67
# https://docs.joinmastodon.org/user/posting/#text: a link counts as 23, `@user@host` as `@user`.
_LINK = re.compile(r"https?://[^\s<>\"]+", re.IGNORECASE)
# Mastodon may count a part of other links in full.
_CERTAIN = re.compile(
    r"https?://(?:[a-z0-9-]+\.)+(?:com|org|net|edu|gov|info|io|dev|app|blog|[a-z]{2})(?::\d+)?"
    r"(?:[/?](?:[\w\-.~/?&=%+:@,;!]*[\w/])?)?",
    re.IGNORECASE | re.ASCII,
)
# A link directly after these is not recognized (twitter-text, validUrlPrecedingChars).
_NO_LINK_AFTER = "@＠$#＃_\u202a\u202b\u202c\u202d\u202e"
_REMOTE_MENTION = re.compile(r"(?<![\w/])(@[a-z0-9_]+)@[a-z0-9.-]+[a-z0-9]+", re.IGNORECASE | re.ASCII)
# RFC 3986 §2.2 and §2.3: reserved and unreserved characters, and % of existing escapes.
SAFE = "!#$&'()*+,/:;=?@[]~-._%"
DEFAULT_PORTS = {"http": 80, "https": 443}
# Not after /, = or a letter, as part of a link.
MENTION = re.compile(r"(?<![A-Za-z0-9_/=])@(?=[A-Za-z0-9_])")
# Number of characters that must match.
BEGINNING = 40
WORD_JOINER = "\u2060"
_HREF = re.compile(r"""<a\s[^<>]*?\bhref\s*=\s*(?:"([^"]*)"|'([^']*)')""", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*>")
# Direction marks, joiners, zero-width spaces. They can reverse the text that follows.
_INVISIBLE = r"\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff"
# White space, control characters, delimiters, lone surrogates.
_BREAKS = re.compile(rf'[\s{_INVISIBLE}\x00-\x1f\x7f<>"\\^`{{|}}\ud800-\udfff]')
_AROUND = re.compile(rf"\A[\s{_INVISIBLE}]+|[\s{_INVISIBLE}]+\Z")


@dataclass(frozen=True, slots=True)
class StatusLimits:
    """In graphemes, including the warning."""

    characters: int = 500
    per_url: int = 23

    @property
    def smaller(self) -> "StatusLimits":
        """Return limits with a reserve of 10 %."""
        return StatusLimits(self.characters * 9 // 10, self.per_url)


def status_length(text: str, per_url: int) -> int:
    """Count links and mentions at their cost: never less than the instance, which may see several in one."""

    def price(link: re.Match[str]) -> str:
        before = link.string[link.start() - 1] if link.start() else " "
        is_certain = _CERTAIN.fullmatch(link[0]) and not (before.isalnum() or before in _NO_LINK_AFTER)
        return "x" * (per_url if is_certain else per_url * link[0].count("://") + graphemes(link[0]))

    return graphemes(_REMOTE_MENTION.sub(r"\1", _LINK.sub(price, text)))


def fits_status(limits: StatusLimits, *, warning: str = "") -> Callable[[str], bool]:
    """Return a check that counts a content warning's links in full."""
    left = limits.characters - graphemes(warning)

    def fits(text: str) -> bool:
        # Before counting: hostile texts have too many code points, in all or per grapheme.
        shortest = _LINK.sub("x" * limits.per_url, text)
        if len(shortest) > max(left, 1) * CODE_POINTS_PER_GRAPHEME:
            return False
        return status_length(text, limits.per_url) <= left

    return fits


def postable(link: str) -> str:
    """Escape what would end a link or mention anyone; "" if not a web address.

    Mastodon finds mentions in links, too. User and password are removed as private.
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
    """Normalize case of scheme and host, default port, escapes."""
    try:
        parts = urlsplit(url.strip())
        scheme, host, port = parts.scheme.lower(), (parts.hostname or "").lower(), parts.port
    except ValueError:
        return url.strip()
    at = "" if port in (None, DEFAULT_PORTS.get(scheme)) else f":{port}"
    query = f"?{_escaped(parts.query)}" if parts.query else ""
    fragment = f"#{_escaped(parts.fragment)}" if parts.fragment else ""
    # Hosts that are invalid in the DNS remain.
    with suppress(UnicodeError):
        host = host if host.isascii() else host.encode("idna").decode()
    return f"{scheme}://{host}{at}{_escaped(parts.path) or '/'}{query}{fragment}"


def holds(content: str, link: str) -> bool:
    """Return whether the html links to `link` or shows it."""
    wanted = normalised(link)
    if any(normalised(unescape(match[1] or match[2] or "")) == wanted for match in _HREF.finditer(content)):
        return True
    return any(normalised(word) == wanted for word in shown_text(content).split() if "://" in word)


def unmentioned(text: str) -> str:
    """Insert an invisible joiner, so that nobody is notified."""
    return MENTION.sub(f"@{WORD_JOINER}", text)


def is_of(content: str, *, text: str, link: str = "", whole: bool = False) -> bool:
    """Return whether the html has the link and begins with the text.

    Several newsletters may post one link. Services change white space, and may shorten the rest. `whole`:
    compare all of it, if there is no link.
    """
    most = None if whole else BEGINNING
    shown, wanted = ("".join(one.split())[:most] for one in (shown_text(content), text))
    return shown == wanted and (not link or holds(content, link))


def shown_text(content: str) -> str:
    return unescape(_TAG.sub("", content))


def _escaped(part: str) -> str:
    settled = re.sub(r"%([0-9a-fA-F]{2})", _settled, part)
    return quote(settled, safe=SAFE, errors="replace")


def _settled(match: re.Match[str]) -> str:
    char = unquote(match.group(0), errors="replace")
    return char if re.fullmatch(r"[A-Za-z0-9._~-]", char) else match.group(0).upper()


def graphemes(text: str) -> int:
    """Count as Mastodon and Bluesky do."""
    return int(grapheme.length(text))


def utf16_units(text: str) -> int:
    """Count as Telegram does."""
    return len(text) + sum(char > "\uffff" for char in text)


def octets(text: str) -> int:
    """Count UTF-8, as Bluesky, ntfy, Matrix and Web Push do."""
    return len(text.encode("utf-8", "surrogatepass"))


def sms_measure(text: str) -> tuple[int, int, int]:
    """Return parts, units, and units per part.

    Uses septets if the GSM alphabet suffices, else UTF-16 units; never splits a letter.
    """
    if all(char in GSM_LETTERS or char in GSM_EXTENSION for char in text):
        costs, one, part = [1 + (char in GSM_EXTENSION) for char in text], ONE_GSM_PART, GSM_PART
    else:
        costs, one, part = [1 + (char > "\uffff") for char in text], ONE_UCS2_PART, UCS2_PART
    units = sum(costs)
    if units <= one:
        return 1, units, one
    parts, used = 1, 0
    for cost in costs:
        if used + cost > part:
            parts, used = parts + 1, 0
        used += cost
    return parts, units, part


def sms_parts(text: str) -> int:
    return sms_measure(text)[0]


def within(*limits: tuple[Measure, int]) -> Callable[[str], bool]:
    def fits(text: str) -> bool:
        return all(
            (measure is not graphemes or len(text) <= most * CODE_POINTS_PER_GRAPHEME)
            and measure(text) <= most
            for measure, most in limits
        )

    return fits
