"""What the whole site is called and wears. Pure."""

from dataclasses import dataclass
from ipaddress import ip_address

# Of a site that has neither a name nor a domain.
NAMELESS = "Feedletter"
# A logo of the site in pages and letters, in CSS pixels. It is shown at half its size at most: sharp.
MOST_LOGO_WIDTH, MOST_LOGO_HEIGHT = 240, 48


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteFacts:
    """`name` is never empty; `is_named` says whether an admin chose it. `says_name`: the logo has the name
    in it. `url` is that of the public list.
    """

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
    """The domain; never the number of a machine, which says nothing to a reader."""
    try:
        ip_address(host.strip("[]"))
    except ValueError:
        return _in_letters(host) if "." in host.strip(".") else NAMELESS
    return NAMELESS


def _in_letters(host: str) -> str:
    """Return an international name (xn--…) as people write it."""
    if "xn--" not in host:
        return host
    import idna  # large tables, for international names only

    try:
        return idna.decode(host)
    except idna.IDNAError:
        return host


def logo_size(width: int, height: int) -> tuple[int, int]:
    """How large a logo of so many pixels is shown."""
    scale = min(MOST_LOGO_WIDTH / max(1, width), MOST_LOGO_HEIGHT / max(1, height), 0.5)
    return max(1, round(width * scale)), max(1, round(height * scale))
