import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import parse_qsl, unquote, urlencode, urljoin, urlsplit

from common.html.balance import attributes
from common.html.images import IMG, is_beacon
from common.text import words
from feeds.parsing.entry import Entry, Media

MAX_EMBEDDED = 3
MAX_COMPARED = 2_000
# mimetypes reads files of the machine.
ENDINGS = {
    **dict.fromkeys(("jpg", "jpeg"), "image/jpeg"),
    **{name: f"image/{name}" for name in ("png", "gif", "webp", "avif", "heic", "bmp")},
    **{name: f"audio/{name}" for name in ("aac", "flac", "ogg", "opus", "wav")},
    **{name: f"video/{name}" for name in ("mp4", "webm")},
    "mp3": "audio/mpeg",
    "m4a": "audio/mp4",
    "oga": "audio/ogg",
    "m4v": "video/mp4",
    "mov": "video/quicktime",
    "ogv": "video/ogg",
    "m3u8": "application/x-mpegurl",
}
_ENDING = re.compile(rf"\.({'|'.join(ENDINGS)})\Z", re.IGNORECASE)
_SIZES = words(
    "w h width height maxwidth maxheight max-width max-height size sz s resize fit crop quality q qlt dpr"
    " format fm fmt auto op_sharpen strip ssl scale zoom cs cb bg blur sharp usm ixlib ixid rect fl tr"
    " wid hei imwidth imheight im imformat downsize disable upscale enable optimize"
)
# They differ at every reading.
SIGNING_PARAMETERS = (
    # S3, Azure, CloudFront, Google.
    r"x-(?:amz|goog|oss|cos|obs|ms)-[\w-]*|expires|signature|sig|se|ske|skt|st|policy|key-pair-id"
    r"|awsaccesskeyid|googleaccessid|ossaccesskeyid"
    # Patreon, Akamai, Discord, Facebook.
    r"|(?:access|auth|download)?[-_]?token(?:[-_][\w-]*)?|__token__|hdn(?:ea|ts|tl)|hmac|jwt|exp"
    r"|ex|is|hm|_nc_\w*|oh|oe"
)
_TOKENS = re.compile(SIGNING_PARAMETERS, re.IGNORECASE)
_HOLDERS = ("url", "src", "image", "u", "uri", "source", "img", "imgurl", "image_url")
_WITHOUT_SCHEME = re.compile(r"(?:ssl:)?(?=[\w-]+(?:\.[\w-]+)+/)")
_IN_PATH = re.compile(r".*[/,]((?:https?):/{1,2}|https?%3A%2F%2F)", re.IGNORECASE | re.DOTALL)
_ONE_SLASH = re.compile(r"\A(https?:)/+", re.IGNORECASE)
_PHOTON = re.compile(r"i[0-3]\.wp\.com")
_FETCHES = re.compile(r"(?:images\.weserv\.nl|wsrv\.nl)")
# Size before path.
_CLOUDFLARE = re.compile(r"/cdn-cgi/image/[^/]+")
_STEPS = (
    (re.compile(r"(\.(?:jpe?g|png|gif))\.(?:webp|avif)\Z", re.IGNORECASE), r"\1"),
    (re.compile(r"(?:[-_]\d{2,5}x\d{0,5}|-scaled|@\dx)+(?=\.\w{2,5}\Z)"), ""),
    # Blogger: /s1600/, /w640-h480/; Tumblr: /s640x960/; Ghost: /size/w600/; Google: =s220 at the end.
    (re.compile(r"(?:/size)?/(?:[wsh]\d{2,4}|s\d{2,4}x\d{2,4}|\d{2,4}x\d{2,4})(?:-[a-z0-9]+)*(?=/)"), ""),
    (re.compile(r"=[wsh]\d{1,4}(?:-[a-z0-9]+)*\Z"), ""),
    # Drupal.
    (re.compile(r"/styles/[^/]+/(?:public|private)(?=/)"), ""),
    # Cloudinary: /w_300,c_fill/
    (re.compile(r"(?<=/upload)(?:/(?:ar|dpr|fl|[abcefghloqrtwxy])_[^/]+)+(?=/)"), ""),
    # Medium: /max/1024/, /v2/resize:fit:1400/
    (re.compile(r"/max/\d+(?=/)|(?:/v2)?/(?:resize|fit):[^/]+(?=/)"), ""),
    # Wikimedia: /thumb/a/ab/X.jpg/220px-X.jpg
    (re.compile(r"/thumb(/.+\.\w{2,5})/\d+px-[^/]+\Z"), r"\1"),
    # Wix: X.jpg/v1/fill/w_300,h_200/X.jpg
    (re.compile(r"(\.\w{2,5})/v1/(?:fill|fit|crop)/.*\Z"), r"\1"),
    # YouTube: /vi/ID/hqdefault.jpg
    (re.compile(r"/vi(?:_webp)?/([\w-]{11})/\w+\.(?:jpg|webp)\Z"), r"/vi/\1"),
    # Mastodon: /original/X.jpg, /small/X.jpg
    (re.compile(r"(/media_attachments/.*)/(?:original|small)/(?=[^/]+\Z)"), r"\1/"),
    # Twitter: X.jpg:large
    (re.compile(r"(\.\w{2,5}):\w+\Z"), r"\1"),
)
_YOUTUBE = re.compile(r"(?:i\d?\.ytimg\.com|img\.youtube\.com)")
_FLICKR = re.compile(r"_[a-z0-9]{1,2}(?=\.\w+\Z)")


@dataclass(frozen=True, slots=True)
class Picture:
    """`width` in pixels, or 0."""

    url: str
    alt: str = ""
    width: int = 0


@lru_cache(maxsize=2_000)
def file_key(url: str) -> str:
    """Return a key without sizes, tokens, scheme and proxies."""
    if len(url) > MAX_COMPARED:
        return url
    for _ in range(MAX_EMBEDDED):
        embedded = _embedded(url)
        if not embedded:
            break
        url = embedded
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").removeprefix("www.")
    except ValueError:
        return url
    path = unquote(parts.path)
    for pattern, replacement in _STEPS:
        path = pattern.sub(replacement, path)
    if _YOUTUBE.fullmatch(host):
        host = "i.ytimg.com"
    elif host.endswith("staticflickr.com"):
        path = _FLICKR.sub("", path)
    if not parts.query or _ENDING.search(path) or host == "pbs.twimg.com":
        return host + path
    kept = sorted(
        (name, value)
        for name, value in parse_qsl(parts.query, keep_blank_values=True)
        if name.lower() not in _SIZES and not _TOKENS.fullmatch(name)
    )
    return f"{host}{path}?{urlencode(kept)}" if kept else host + path


def type_by_ending(url: str) -> str:
    try:
        match = _ENDING.search(urlsplit(url).path)
    except ValueError:
        return ""
    return ENDINGS[match[1].lower()] if match else ""


def beside(urls: Iterable[str], html: str) -> list[str]:
    urls_by_key: dict[str, str] = {}
    seen = {file_key(attributes(image[1]).get("src", "")) for image in IMG.finditer(html)}
    for url in urls:
        key = file_key(url)
        if key not in seen:
            urls_by_key.setdefault(key, url)
    return list(urls_by_key.values())


def pictures_beside(entry: Entry) -> tuple[Picture, ...]:
    """Return pictures, not sensitive, that the text lacks.

    The post's own image counts if there is no other.
    """
    if entry.sensitive:
        return ()
    media = [Picture(one.url, one.alt) for one in entry.media if one.is_image and _is_picture(one.url)]
    if not media and "<img" not in entry.html and _is_picture(entry.image):
        media = [Picture(entry.image)]
    if not media:
        return ()
    new = set(beside((one.url for one in media), entry.html))
    return tuple(
        Picture(one.url, one.alt, entry.image_width if one.url == entry.image else 0)
        for one in media
        if one.url in new
    )


def files_of(entry: Entry) -> list[Media]:
    files = [one for one in entry.media if entry.sensitive or not one.is_image]
    if entry.sensitive and entry.image and not any(one.is_image for one in files):
        files.append(Media(entry.image, "image"))
    return files


def _is_picture(url: str) -> bool:
    is_of_the_web = url.startswith(("https://", "http://"))
    return is_of_the_web and not is_beacon(url) and "gravatar.com/avatar/" not in url


def _embedded(url: str) -> str:
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return ""
    if _PHOTON.fullmatch(host):
        return f"https:/{parts.path}"
    if parts.fragment.startswith(("http://", "https://")):
        # Google's mail proxy.
        return parts.fragment
    if ("%" in parts.path or ":" in parts.path) and (match := _IN_PATH.match(parts.path)):
        return _ONE_SLASH.sub(r"\1//", unquote(parts.path[match.start(1) :]))
    if "/cdn-cgi/image/" in parts.path:
        return f"https://{host}{_CLOUDFLARE.sub('', parts.path)}"
    if "=" in parts.query:
        values = dict(parse_qsl(parts.query))
        for name in _HOLDERS:
            value = values.get(name, "")
            if value.startswith(("http://", "https://", "//")):
                return urljoin("https://x/", value)
            if name == "url" and value.startswith("/"):
                return f"https://{host}{value}"
            if value and _FETCHES.fullmatch(host) and (start := _WITHOUT_SCHEME.match(value)):
                return f"https://{value[start.end() :]}"
    return ""
