"""Errors with pictures never stop a post."""

import logging
from dataclasses import dataclass
from functools import partial
from threading import Lock

from channels.announcement import PostImage
from common.net.client import client
from common.net.errors import FetchError, host_of
from common.pictures.child import resized
from common.pictures.picture import BadPicture, CleanPicture
from common.ttl_cache import TtlCache

MOST_FETCHED = 10_000_000
FETCH_SECONDS = 10.0
# Enough to send an issue to many accounts.
REMEMBERED_SECONDS = 900.0
ROOM = 32_000_000
# For failures.
NOTHING_SIZE = 1_000
HEADERS = {"Accept": "image/webp,image/png,image/jpeg,image/gif;q=0.9,*/*;q=0.1"}

log = logging.getLogger(__name__)
_fetched: TtlCache[bytes | None] = TtlCache(
    room=ROOM, seconds=REMEMBERED_SECONDS, size=lambda octets: len(octets or b"") + NOTHING_SIZE
)
_made: TtlCache[CleanPicture | None] = TtlCache(
    room=ROOM, seconds=REMEMBERED_SECONDS, size=lambda made: (len(made.data) if made else 0) + NOTHING_SIZE
)
# One fetch serves accounts that post at once.
_turns = tuple(Lock() for _ in range(16))


@dataclass(frozen=True, slots=True)
class PictureBounds:
    """Longest side in pixels, file size in octets."""

    most_side: int = 1920
    most_bytes: int = 2_000_000


USUAL = PictureBounds()


def fetched_picture(image: PostImage, bounds: PictureBounds = USUAL) -> CleanPicture | None:
    """Fetch it (network) as JPEG or PNG without metadata; None if unavailable.

    Once in 15 minutes, at most 10 MB in 10 seconds. Not for compose. Raises NetworkInTransaction.
    """
    url = image.url
    with _turns[hash(url) % len(_turns)]:
        return _made.get(f"{bounds} {url}", partial(_picture, url, bounds))


def forget_pictures() -> None:
    _fetched.clear()
    _made.clear()


def _picture(url: str, bounds: PictureBounds) -> CleanPicture | None:
    octets = _fetched.get(url, partial(_octets, url))
    if octets is None:
        return None
    try:
        return resized(octets, most_side=bounds.most_side, most_bytes=bounds.most_bytes)
    except BadPicture as error:
        _leave_out(url, str(error))
        return None


def _octets(url: str) -> bytes | None:
    try:
        answer = client().get(url, headers=HEADERS, timeout=FETCH_SECONDS, max_bytes=MOST_FETCHED)
    except FetchError as error:
        _leave_out(url, str(error))
        return None
    if answer.status == 200 and is_picture(answer.body):
        return answer.body
    _leave_out(url, f"The response is {answer.status}, not JPEG, PNG, GIF or WebP.")
    return None


def is_picture(octets: bytes) -> bool:
    """Content-Type proves nothing."""
    is_webp = octets[:4] == b"RIFF" and octets[8:12] == b"WEBP"
    return is_webp or octets.startswith((b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"GIF87a", b"GIF89a"))


def _leave_out(url: str, why: str) -> None:
    """Name only the host: an address may be secret."""
    log.info("A picture of %s was left out. %s", host_of(url), why)
