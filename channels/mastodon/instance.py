"""What an instance says of itself: its limits, and whether it honours an Idempotency-Key."""

from dataclasses import dataclass, field
from math import isqrt
from urllib.parse import urlsplit

from channels.http.client import UnreadableAnswer
from channels.http.priced_links import StatusLimits
from channels.http.transport import ApiResponse
from channels.pictures import PictureBounds
from common.ttl_cache import TtlCache

INSTANCE_REMEMBERED_SECONDS = 24 * 60 * 60.0
MOST_INSTANCES = 1000
MOST_CHARACTERS = 100_000
# Forks and other servers keep "mastodon" out of their source's name or say "compatible" in the version.
MASTODON_SOURCE = "/mastodon"


@dataclass(frozen=True, slots=True)
class Instance:
    """`honours_keys`: whether it is known to keep an Idempotency-Key for an hour, as Mastodon itself does.
    `images` is how many a status may have, `alt` how many characters their words."""

    limits: StatusLimits = field(default_factory=StatusLimits)
    honours_keys: bool = False
    images: int = 4
    alt: int = 1_500
    pictures: PictureBounds = field(default_factory=PictureBounds)


def instances() -> TtlCache[Instance]:
    """Instances by address, each for a day."""
    return TtlCache(room=MOST_INSTANCES, seconds=INSTANCE_REMEMBERED_SECONDS, size=lambda _: 1)


def instance_of(answer: ApiResponse) -> Instance:
    """Reads either answer, whatever is in it; forks name their limit `max_toot_chars`. Raises
    UnreadableAnswer, if it is no JSON."""
    if answer.json is None:
        raise UnreadableAnswer("a page")
    usual, statuses, media = Instance(), ("configuration", "statuses"), ("configuration", "media_attachments")
    version, source = str(answer.at("version")), urlsplit(str(answer.at("source_url"))).path
    forks = answer.number_at("max_toot_chars", otherwise=usual.limits.characters)
    characters = answer.number_at(*statuses, "max_characters", otherwise=forks)
    per_url = answer.number_at(*statuses, "characters_reserved_per_url", otherwise=usual.limits.per_url)
    side, size = usual.pictures.most_side, usual.pictures.most_bytes
    pixels = answer.number_at(*media, "image_matrix_limit", otherwise=side**2)
    octets = answer.number_at(*media, "image_size_limit", otherwise=size)
    return Instance(
        StatusLimits(min(characters, MOST_CHARACTERS), min(per_url, MOST_CHARACTERS)),
        honours_keys=source.rstrip("/").endswith(MASTODON_SOURCE) and "compatible" not in version.lower(),
        images=answer.number_at(*statuses, "max_media_attachments", otherwise=usual.images),
        alt=answer.number_at(*media, "description_limit", otherwise=usual.alt),
        pictures=PictureBounds(min(side, isqrt(pixels)), min(size, octets)),
    )
