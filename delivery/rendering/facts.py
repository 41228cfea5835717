"""Data of an issue, copied from the database: templates never see a model. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from feeds.parsing.entry import Entry
from subscriptions.rules.site import USUAL_SITE, SiteFacts

# Also of services that give no other format.
_SVG = re.compile(
    r"\.svgz?(?:[?#]|\Z)|/svg[/.]|[?&](?:format|fm|type|output)=svg\b|//img\.shields\.io/", re.IGNORECASE
)
# In CSS pixels.
LETTER_WIDTH = 552
LOGO_WIDTH = 120
LONGEST_TEMPLATE_SUBJECT = 500
LONGEST_TEMPLATE_HTML = 200_000
LONGEST_TEMPLATE_TEXT = 100_000


def frozen(values: dict[str, str]) -> Mapping[str, str]:
    """Restore a frozen mapping, which pickle can't name."""
    return MappingProxyType(values)


def web_address(url: str) -> str:
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return ""
    return url.strip() if parts.scheme.lower() in ("http", "https") and parts.netloc else ""


def is_drawing(url: str) -> bool:
    """Return whether it is an SVG, which most mail programs don't show."""
    return _SVG.search(url) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class ThemeFacts:
    """Colours are #rrggbb, `logo_width` is in CSS pixels, `subject` is a pattern. Empty: the default."""

    style: str = "serif"
    accent: str = ""
    background: str = ""
    logo_url: str = ""
    logo_alt: str = ""
    logo_width: int = LOGO_WIDTH
    header_picture_url: str = ""
    header_picture_alt: str = ""
    header: str = ""
    footer: str = ""
    postal_address: str = ""
    subject: str = ""


USUAL_THEME = ThemeFacts()


@dataclass(frozen=True, slots=True)
class TemplateSource:
    """An empty `subject` or `text` means the default."""

    html: str
    text: str = ""
    subject: str = ""

    def too_long(self) -> tuple[str, str] | None:
        """Return the part that exceeds its limit, with an error message."""
        for part, most in (
            ("subject", LONGEST_TEMPLATE_SUBJECT),
            ("html", LONGEST_TEMPLATE_HTML),
            ("text", LONGEST_TEMPLATE_TEXT),
        ):
            if (size := len(getattr(self, part))) > most:
                return part, f"it has {size:,} characters; a template may have {most:,}"
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueFacts:
    """Input of an issue. `name` is for URLs, `newsletter` for readers; `archive_url` is empty if private.

    `entries` are in display order, with html from `common.html.clean`. `template` is one of
    `letter_templates()`, or empty for the default. Times are aware. `own`: custom templates by names such as
    issues/digest.
    """

    name: str
    newsletter: str
    arrangement: str
    entries: tuple[Entry, ...]
    now: datetime
    description: str = ""
    from_email: str = ""
    reply_to: str = ""
    language: str = "en"
    accent: str = ""
    site_url: str = ""
    archive_url: str = ""
    params: Mapping[str, str] = field(default_factory=dict)
    within_type_id: str = ""
    period_start: datetime | None = None
    period_end: datetime | None = None
    # Not the emails of a series, which are sent for years.
    is_dated: bool = True
    time_zone: str = "UTC"
    n: int | None = None
    template: str = ""
    theme: ThemeFacts = USUAL_THEME
    site: SiteFacts = USUAL_SITE
    own: Mapping[str, TemplateSource] = field(default_factory=dict)
    # From an editor or the newsletter's own code; number of posts shown in full.
    subject: str = ""
    most_posts: int | None = None
    # A value of Subscribable.Content.
    content: str = "full"
    # Its readers' answers reach somebody; where others can subscribe, or "".
    takes_replies: bool = False
    sign_up_url: str = ""
    # Their readers also get it; the footer says so.
    other_newsletters: tuple[str, ...] = ()
    # Editor's notes: clean html.
    note_top: str = ""
    note_foot: str = ""

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.time_zone)

    @property
    def readers_name(self) -> str:
        return self.newsletter or self.name
