"""How an instance counts a status. Pure."""

import re
from collections.abc import Callable
from dataclasses import dataclass

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
