"""Proxy of remote pictures, so that their servers don't learn who reads what."""

import logging
import os
import re
import secrets
import struct
import threading
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from django.conf import settings
from django.core.cache import cache
from django.urls import reverse

from common.counters import count
from common.html.balance import scheme
from common.net.client import client
from common.net.errors import FetchError, host_of
from common.net.web_slots import ServerBusy
from common.rates import Limit, count_within
from common.signing import is_stamp, stamp

log = logging.getLogger(__name__)

PURPOSE = "reader.media"
LONGEST_URL = 4_000
MAX_PICTURE = 5_000_000
# Four bytes each when decoded. A file of a few kB may declare billions.
MOST_PIXELS = 50_000_000
FETCH_SECONDS = 10.0
# Failed fetches are cached this long.
FORGOTTEN_AFTER_SECONDS = 600
FETCHES_OF_A_HOST = Limit("media-host", 120)
# Per web process of eight threads: requests that fetch, that fetch or wait, and longest wait. With the slots
# of `common.net.web_slots` a thread is left for pages.
AT_ONCE = 3
MOST_IN_FLIGHT = 6
TURN_SECONDS = 2.0
LOOKS_A_SECOND = 10
# Check the folder's size after one in so many new pictures.
COUNTED_AT_ONE_IN = 50
MOST_OF_AN_ICON = 64
AVIF_HEADER = 64 * 1024
# SOF0 to SOF15 of JPEG without DHT, JPG and DAC.
FRAME_HEADERS = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_STARTS = {
    "image/jpeg": rb"\xff\xd8\xff",
    "image/png": rb"\x89PNG\r\n\x1a\n",
    "image/gif": rb"GIF8[79]a",
    "image/webp": rb"RIFF....WEBP",
    "image/avif": rb"....ftypavi[fs]",
    "image/vnd.microsoft.icon": rb"\x00\x00\x01\x00",
}
_in_flight = threading.BoundedSemaphore(MOST_IN_FLIGHT)
_turns = threading.BoundedSemaphore(AT_ONCE)


def media_path(url: str) -> str:
    """Return "" unless it is on the web."""
    if scheme(url) not in ("http", "https") or len(url) > LONGEST_URL:
        return ""
    packed = urlsafe_b64encode(url.encode()).decode().rstrip("=")
    return reverse("reader:media", args=[stamp(PURPOSE, url), packed])


def stamped_url(mac: str, packed: str) -> str | None:
    try:
        url = urlsafe_b64decode(packed + "=" * (-len(packed) % 4)).decode()
    except (Error, ValueError):
        return None
    return url if is_stamp(PURPOSE, url, mac) else None


class Busy(Exception):
    pass


def picture_at(url: str) -> bytes | None:
    """Return None if it cannot be shown. Raises Busy."""
    key = key_of(url)
    if (kept := _kept(key)) is not None:
        count("pictures", "kept")
        return kept
    if cache.get(f"media-none-{key}"):
        count("pictures", "none")
        return None
    try:
        picture = _new_picture(url, key)
    except (Busy, ServerBusy) as error:
        count("pictures", "busy")
        raise Busy from error
    count("pictures", "none" if picture is None else "fetched")
    return picture


def _new_picture(url: str, key: str) -> bytes | None:
    """Fetch a picture, unless another request does. Raises Busy."""
    if not _in_flight.acquire(blocking=False):
        raise Busy
    try:
        if not cache.add(f"media-fetch-{key}", 1, FETCH_SECONDS + TURN_SECONDS):
            return _fetched_by_another(key)
        try:
            picture = _fetched(url)
        finally:
            cache.delete(f"media-fetch-{key}")
    finally:
        _in_flight.release()
    if picture is None:
        cache.set(f"media-none-{key}", 1, FORGOTTEN_AFTER_SECONDS)
    else:
        _keep(key, picture)
    return picture


def key_of(url: str) -> str:
    return sha256(url.encode()).hexdigest()


def picture_type(body: bytes) -> str:
    """Return "" for types that are not shown, such as SVG."""
    return next((kind for kind, start in _STARTS.items() if re.match(start, body, re.DOTALL)), "")


def declared_size(body: bytes) -> tuple[int, int]:
    """Return width and height by the header, or zeros."""
    head = body[:40].ljust(40, b"\0")
    match picture_type(body):
        case "image/png" if head[12:16] == b"IHDR":
            return int.from_bytes(head[16:20]), int.from_bytes(head[20:24])
        case "image/gif":
            return int.from_bytes(head[6:8], "little"), int.from_bytes(head[8:10], "little")
        case "image/webp":
            return _size_of_webp(head)
        case "image/jpeg":
            return _size_of_jpeg(body)
        case "image/vnd.microsoft.icon":
            return _size_of_icon(body)
        case "image/avif":
            return _size_of_avif(body)
    return 0, 0


def _size_of_avif(body: bytes) -> tuple[int, int]:
    """Return the largest ImageSpatialExtentsProperty (ISO/IEC 23008-12 §6.5.3)."""
    boxes = (match.end() + 4 for match in re.finditer(b"ispe", body[:AVIF_HEADER]))
    sizes = ((int.from_bytes(body[at : at + 4]), int.from_bytes(body[at + 4 : at + 8])) for at in boxes)
    return max(sizes, key=lambda size: size[0] * size[1], default=(0, 0))


def _size_of_icon(body: bytes) -> tuple[int, int]:
    sizes = [(0, 0)]
    for number in range(min(int.from_bytes(body[4:6], "little"), MOST_OF_AN_ICON)):
        entry = 6 + number * 16
        start = int.from_bytes(body[entry + 12 : entry + 16], "little")
        picture = body[start : start + 40]
        if picture_type(picture) == "image/png":
            sizes.append(declared_size(picture))
        else:
            # The mask doubles the height.
            width = int.from_bytes(picture[4:8], "little", signed=True)
            height = int.from_bytes(picture[8:12], "little", signed=True)
            sizes.append((abs(width), abs(height)))
    return max(sizes, key=lambda size: size[0] * size[1])


def _size_of_webp(head: bytes) -> tuple[int, int]:
    """RFC 9649 §2.5 to §2.7."""
    if head[12:16] == b"VP8X":
        return int.from_bytes(head[24:27], "little") + 1, int.from_bytes(head[27:30], "little") + 1
    if head[12:16] == b"VP8L":
        bits = int.from_bytes(head[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    return int.from_bytes(head[26:28], "little") & 0x3FFF, int.from_bytes(head[28:30], "little") & 0x3FFF


def _size_of_jpeg(body: bytes) -> tuple[int, int]:
    """Read the first frame header (ITU T.81, B.2.2)."""
    position = 2
    while (position := body.find(b"\xff", position)) >= 0 and position + 9 <= len(body):
        marker = body[position + 1]
        if marker in FRAME_HEADERS:
            height, width = struct.unpack_from(">HH", body, position + 5)
            return width, height
        # 0xFF is padding; these markers have no length.
        is_bare = marker in (0x00, 0x01, 0xFF) or 0xD0 <= marker <= 0xD8
        length = 0 if is_bare else int.from_bytes(body[position + 2 : position + 4])
        position += 1 if marker == 0xFF else 2 + length
    return 0, 0


def _shown(body: bytes) -> bytes | None:
    width, height = declared_size(body)
    return body if picture_type(body) and width * height <= MOST_PIXELS else None


def _fetched(url: str) -> bytes | None:
    if not count_within((FETCHES_OF_A_HOST, host_of(url))):
        raise Busy
    if not _turns.acquire(timeout=TURN_SECONDS):
        raise Busy
    try:
        accepted = {"Accept": "image/avif,image/webp,image/png,image/jpeg,image/gif,image/x-icon"}
        answer = client().get(url, headers=accepted, timeout=FETCH_SECONDS, max_bytes=MAX_PICTURE)
    except FetchError as error:
        log.info("could not fetch a picture: %s", error)
        return None
    finally:
        _turns.release()
    return _shown(answer.body) if answer.status == 200 else None


def _fetched_by_another(key: str) -> bytes | None:
    for _ in range(int(TURN_SECONDS * LOOKS_A_SECOND)):
        time.sleep(1 / LOOKS_A_SECOND)
        if (kept := _kept(key)) is not None:
            return kept
        if cache.get(f"media-none-{key}"):
            return None
    raise Busy


def _folder() -> Path:
    return Path(settings.DATA_DIR) / "media"


def _kept(key: str) -> bytes | None:
    path = _folder() / key[:2] / key
    try:
        body = path.read_bytes()
        os.utime(path)
    except OSError:
        return None
    return _shown(body)


def _keep(key: str, body: bytes) -> None:
    """Disk errors don't keep anybody from seeing the picture."""
    path = _folder() / key[:2] / key
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_suffix(f".{secrets.token_hex(4)}")
        beside.write_bytes(body)
        beside.replace(path)
    except OSError as error:
        log.warning("could not store a picture: %s", error)
        return
    if secrets.randbelow(COUNTED_AT_ONE_IN) == 0:
        forget_oldest(settings.MEDIA_CACHE_MB * 1_000_000)


def forget_oldest(most: int) -> int:
    """Delete least recently shown pictures until `most` bytes are left."""
    files = []
    for path in _folder().glob("*/*"):
        with suppress(OSError):
            about = path.stat()
            files.append((about.st_mtime, about.st_size, path))
    size, forgotten = sum(size for _, size, _ in files), 0
    for _, one, path in sorted(files):
        if size <= most:
            break
        path.unlink(missing_ok=True)
        size, forgotten = size - one, forgotten + 1
    return forgotten
