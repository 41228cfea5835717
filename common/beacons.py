"""Pictures and frames that are there to be counted, not to be looked at. Pure.

The list is short on purpose: who counts readers of feeds on purpose, by an address that nothing else has.
Anything else that is a pixel large is known by its size.
"""

import re

# Host (and those below it) and the beginning of the path.
BEACONS = (
    ("feeds.feedburner.com", "/~"),  # ~r a pixel, ~ff a row of buttons
    ("feedproxy.google.com", "/~"),
    ("feedsportal.com", "/"),
    ("feedblitz.com", "/~"),
    ("pixel.wp.com", "/"),
    ("stats.wp.com", "/"),
    ("stats.wordpress.com", "/"),
    ("feeds.wordpress.com", "/1.0/"),
    ("medium.com", "/_/stat"),
    ("blogger.googleusercontent.com", "/tracker/"),
    ("google-analytics.com", "/"),
    ("googletagmanager.com", "/"),
    ("doubleclick.net", "/"),
    ("googlesyndication.com", "/"),
    ("quantserve.com", "/"),
    ("scorecardresearch.com", "/"),
    ("amazon-adsystem.com", "/"),
    ("assoc-amazon.com", "/e/"),
    ("api.follow.it", "/track"),
    ("substackcdn.com", "/open"),
    ("counter.theconversation.com", "/"),
    ("counter.theconversation.edu.au", "/"),
    ("rss.buysellads.com", "/"),
)
# On whatever host: Matomo, Mailchimp and their like.
_PATHS = re.compile(r"/(?:matomo|piwik)\.php|/track/open\.php|/__utm\.gif|/mf\.gif\Z", re.IGNORECASE)
_EXACT = {("facebook.com", "/tr"), ("facebook.com", "/tr/")}
_ADDRESS = re.compile(r"https?://(?:[^/?#@]*@)?([^/?#:]+)(?::\d+)?(/[^?#]*)?", re.IGNORECASE)


def is_beacon(url: str) -> bool:
    """Whether what is at this address only counts who looks."""
    match = _ADDRESS.match(url)
    if match is None:
        return False
    host, path = match[1].lower(), match[2] or "/"
    known = (path.startswith(start) for name, start in BEACONS if host == name or host.endswith(f".{name}"))
    return any(known) or (host.removeprefix("www."), path) in _EXACT or _PATHS.search(path) is not None


def is_pixel(values: dict[str, str], style: str) -> bool:
    """Whether an element of these attributes and this style is too small to be seen, or hidden."""
    if _HIDDEN.search(style):
        return True
    sizes = {**values, **dict(_SIZE.findall(style))}
    return all(_NOTHING.fullmatch(sizes.get(side, "2").strip()) for side in ("width", "height"))


_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden|opacity\s*:\s*0?(?:\.0+)?\s*(?:;|\Z)")
_SIZE = re.compile(r"(width|height)\s*:\s*([\d.]+)")
_NOTHING = re.compile(r"0*[01]?(\.0*)?(px)?")
