"""The addresses under which pictures from elsewhere are shown here. Only we can make one."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error

from django.urls import reverse

from common.html.tags import scheme
from common.signing import is_stamp, stamp

PURPOSE = "reader.media"
LONGEST_URL = 4_000


def media_path(url: str) -> str:
    """Where the picture at an address is shown; "" where that is none of the web."""
    if scheme(url) not in ("http", "https") or len(url) > LONGEST_URL:
        return ""
    packed = urlsafe_b64encode(url.encode()).decode().rstrip("=")
    return reverse("reader:media", args=[stamp(PURPOSE, url), packed])


def stamped_url(mac: str, packed: str) -> str | None:
    """The address that was packed, or None if it was not by us."""
    try:
        url = urlsafe_b64decode(packed + "=" * (-len(packed) % 4)).decode()
    except (Error, ValueError):
        return None
    return url if is_stamp(PURPOSE, url, mac) else None
