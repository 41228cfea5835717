from dataclasses import dataclass
from ipaddress import ip_address

NAMELESS = "Feedletter"
# CSS pixels. Half a logo's size, to be sharp.
MOST_LOGO_WIDTH, MOST_LOGO_HEIGHT = 240, 48


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteFacts:
    """`is_named`: an admin chose `name`. `says_name`: the logo contains it."""

    name: str = NAMELESS
    is_named: bool = False
    url: str = ""
    about: str = ""
    imprint_url: str = ""
    privacy_url: str = ""
    accent: str = ""
    logo_url: str = ""
    logo_width: int = 0
    logo_height: int = 0
    says_name: bool = False

    @property
    def has_foot(self) -> bool:
        return bool(self.is_named or self.imprint_url or self.privacy_url)


USUAL_SITE = SiteFacts()


def usual_name(host: str) -> str:
    """IP addresses mean nothing to readers."""
    try:
        ip_address(host.strip("[]"))
    except ValueError:
        return _in_letters(host) if "." in host.strip(".") else NAMELESS
    return NAMELESS


def _in_letters(host: str) -> str:
    if "xn--" not in host:
        return host
    import idna  # large tables

    try:
        return idna.decode(host)
    except idna.IDNAError:
        return host


def logo_size(width: int, height: int) -> tuple[int, int]:
    scale = min(MOST_LOGO_WIDTH / max(1, width), MOST_LOGO_HEIGHT / max(1, height), 0.5)
    return max(1, round(width * scale)), max(1, round(height * scale))
