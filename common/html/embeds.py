"""Links in place of video, audio and frames, with the video's poster if known."""

import re
from functools import partial
from html import escape, unescape
from urllib.parse import parse_qs, unquote, urldefrag, urlsplit

from common.html.balance import VALUES, attributes, resolved
from common.html.images import SOURCE, is_beacon, is_pixel

# Kept by the first cleaning, replaced before the second.
EMBED_TAGS = frozenset({"iframe", "video", "audio", "source", "embed", "object"})
# Scripts set a frame's address from these, some only after consent.
LATE_SOURCES = (
    *("data-src", "data-lazy-src", "data-src-cmplz", "data-cmp-src", "data-cookieblock-src"),
    *("data-iframe-src", "data-litespeed-src", "data-original-src", "data-consent-src"),
    "data-borlabs-cookie-iframe-src",
)
EMBED_ATTRIBUTES = {
    "iframe": {"src", *LATE_SOURCES, "width", "height", "style", "title", "aria-label"},
    "video": {"src", "data-src", "poster"},
    "audio": {"src", "data-src"},
    "source": {"src", "data-src", "srcset", "data-srcset", "type"},
    "embed": {"src"},
    "object": {"data", "aria-label"},
}
NAMES = {
    "youtube.com": "YouTube",
    "youtube-nocookie.com": "YouTube",
    "youtu.be": "YouTube",
    "vimeo.com": "Vimeo",
    "dailymotion.com": "Dailymotion",
    "twitch.tv": "Twitch",
    "ted.com": "TED",
    "spotify.com": "Spotify",
    "soundcloud.com": "SoundCloud",
    "bandcamp.com": "Bandcamp",
    "podcasts.apple.com": "Apple Podcasts",
}
MAX_LABEL = 200
PLAY = "▶ "

_MEDIUM = re.compile(rf"<(?P<tag>video|audio)(?P<values>{VALUES})>(?P<inside>.*?)</(?P=tag)>", re.DOTALL)
_FRAME = re.compile(f"<iframe(?P<values>{VALUES})>(?P<inside>.*?)</iframe>", re.DOTALL)
_OBJECT = re.compile(f"<object(?P<values>{VALUES})>(?P<inside>.*?)</object>", re.DOTALL)
_EMBED = re.compile(f"<embed(?P<values>{VALUES})>")
_HOLLOW = re.compile(
    rf"<a(?P<values>{VALUES})>(?P<inside>(?:\s|&nbsp;|</?(?:i|b|em|strong|span|div|p)(?:{VALUES})>)*)</a>"
)
_LINK = re.compile(r"""<a\s[^<>]*?href\s*=\s*["']?([^"'\s<>]+)[^<>]*>([^<]*)""", re.IGNORECASE)
_YOUTUBE = re.compile(
    r"/(?:embed|v|shorts|live)/(?!videoseries|live_stream)([\w-]{11})(?![\w-])|\A/([\w-]{11})\Z"
)
_VIMEO = re.compile(r"\A/video/(\d+)")
# Names that players give themselves.
_SAYS_NOTHING = re.compile(
    r"(?:youtube |vimeo |spotify )?(?:video|audio|embed(?:ded)?|content|media|player|iframe| )*", re.I
)
_SAID_BEFORE = re.compile(r"\A(?:spotify embed|youtube video|vimeo video)\s*:\s*", re.IGNORECASE)


def as_links(html: str, base: str) -> str:
    for pattern, replaced in ((_MEDIUM, _medium), (_OBJECT, _object), (_EMBED, _frame), (_FRAME, _frame)):
        html = pattern.sub(partial(replaced, base=base), html)
    return html


def with_names(html: str, base: str) -> str:
    """Name links without content, such as icons drawn by a font."""
    return _HOLLOW.sub(partial(_named, base=base), html)


def _named(link: re.Match[str], base: str) -> str:
    values = attributes(link["values"])
    place, fragment = urldefrag(values.get("href", ""))
    if not place or (fragment and place == urldefrag(base)[0]) or is_beacon(place):
        return link[0]
    name = values.get("title", "").strip() or page_name(place)
    return f"<a{link['values']}>{link['inside']}{escape(name)}</a>"


def page_name(address: str) -> str:
    """Return "host/…"."""
    parts = urlsplit(address)
    return f"{_host(address)}/…" if parts.path.strip("/") and parts.hostname else _host(address) or parts.path


def _medium(match: re.Match[str], base: str) -> str:
    """Link to the first source; without one, a script plays it, so link to the page."""
    values = attributes(match["values"])
    sources = [values, *map(attributes, SOURCE.findall(match["inside"]))]
    addresses = (
        resolved(one.get(name, ""), base) for one in sources for name in ("src", "data-src") if one.get(name)
    )
    address = next(filter(None, addresses), base)
    name = values.get("title") or _file_name(address) or _host(address)
    return _link(
        address, PLAY + name, poster=resolved(values.get("poster", ""), base) if values.get("poster") else ""
    )


def _object(match: re.Match[str], base: str) -> str:
    values, embedded = attributes(match["values"]), _EMBED.search(match["inside"])
    address = values.get("data") or (attributes(embedded[1]).get("src", "") if embedded else "")
    return _framed(address, values, base) if address else match["inside"]


def _frame(match: re.Match[str], base: str) -> str:
    values = attributes(match["values"])
    if is_pixel(values, values.get("style", "").lower()):
        return ""
    addresses = [values[name] for name in ("src", *LATE_SOURCES) if values.get(name)]
    address = next((one for one in addresses if resolved(one, base)), "")
    link = _LINK.search(match.groupdict().get("inside") or "")
    if link and address and (page := resolved(unescape(link[1]), base)):
        # Shown where frames are not (Bandcamp); the player's address says less.
        address, values = page, {"title": unescape(link[2])} | values
    if not address and not addresses:
        # Its content is inline, or set by a script.
        name = _name(values)
        return _link(base, name) if name else ""
    return _framed(address, values, base)


def _name(values: dict[str, str]) -> str:
    return " ".join((values.get("title") or values.get("aria-label") or "").split())


def _framed(address: str, values: dict[str, str], base: str) -> str:
    address = resolved(address, base) if address else ""
    if not address or is_beacon(address):
        return ""
    label = _SAID_BEFORE.sub("", _name(values))
    label = "" if _SAYS_NOTHING.fullmatch(label) else label
    address, picture = own_page(address)
    provider = next((NAMES[name] for name in NAMES if _is_of(name, _host(address))), "")
    words = " – ".join(
        filter(None, (label or ("" if provider else _file_name(address)), provider or _host(address)))
    )
    return _link(address, (PLAY if provider else "") + words, picture=picture)


def own_page(address: str) -> tuple[str, str]:
    """Return the page to watch it, and YouTube's picture."""
    parts, host = urlsplit(address), _host(address)
    query = parse_qs(parts.query)
    if any(_is_of(name, host) for name in ("youtube.com", "youtube-nocookie.com", "youtu.be")):
        if film := _YOUTUBE.search(parts.path):
            key, start = film[1] or film[2], query.get("start", [""])[0]
            at = f"&t={start}s" if start.isdecimal() else ""
            return f"https://www.youtube.com/watch?v={key}{at}", f"https://i.ytimg.com/vi/{key}/hqdefault.jpg"
        listed = query.get("list", [""])[0]
        is_list = re.fullmatch(r"[\w-]+", listed)
        return f"https://www.youtube.com/playlist?list={listed}" if is_list else address, ""
    if host == "player.vimeo.com" and (film := _VIMEO.search(parts.path)):
        secret = query.get("h", [""])[0]
        return f"https://vimeo.com/{film[1]}" + (f"/{secret}" if secret.isalnum() else ""), ""
    if host == "open.spotify.com":
        return f"https://{host}{parts.path.removeprefix('/embed')}", ""
    if host == "w.soundcloud.com" and (page := resolved(query.get("url", [""])[0], "")):
        return page if _host(page) == "soundcloud.com" else address, ""
    return address, ""


def _link(address: str, words: str, *, poster: str = "", picture: str = "") -> str:
    words = words if len(words) <= MAX_LABEL else words[: MAX_LABEL - 1] + "…"
    image = f'<img src="{escape(poster)}" alt=""><br>' if poster else ""
    if picture:
        image = f'<img src="{escape(picture)}" alt="" width="480" height="360"><br>'
    return f'<p><a href="{escape(address)}">{image}{escape(words)}</a></p>' if address else ""


def _file_name(address: str) -> str:
    name = unquote(urlsplit(address).path.rpartition("/")[2])
    return (
        unescape(name) if re.fullmatch(r"[^/]{1,150}\.(?!html?|php|aspx?)[a-z0-9]{2,5}", name, re.I) else ""
    )


def _host(address: str) -> str:
    try:
        return (urlsplit(address).hostname or "").removeprefix("www.")
    except ValueError:
        return ""


def _is_of(name: str, host: str) -> bool:
    return host == name or host.endswith(f".{name}")
