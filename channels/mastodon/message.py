from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import isqrt
from urllib.parse import urlsplit

from channels.announcement import Announcement, Line, PostImage
from channels.http.client import UnreadableAnswer
from channels.http.links import StatusLimits, fits_status, unmentioned
from channels.http.transport import ApiResponse
from channels.pictures import PictureBounds
from channels.wording import extra_parts, parts_of, thread_of
from common.truncation import FittingPart, fit_parts, plain_line
from common.ttl_cache import TtlCache

INSTANCE_REMEMBERED_SECONDS = 24 * 60 * 60.0
MOST_INSTANCES = 1000
MOST_CHARACTERS = 100_000
# Not in other servers' source name; some have "compatible" in the version.
MASTODON_SOURCE = "/mastodon"
# Longer digests are on their page.
LONGEST_THREAD = 10


@dataclass(frozen=True, slots=True)
class Instance:
    """`honours_keys`: keeps an Idempotency-Key for an hour, like Mastodon itself.

    `images`: pictures per status; `alt`: characters of a description.
    """

    limits: StatusLimits = field(default_factory=StatusLimits)
    honours_keys: bool = False
    images: int = 4
    alt: int = 1_500
    pictures: PictureBounds = field(default_factory=PictureBounds)


def instances() -> TtlCache[Instance]:
    return TtlCache(room=MOST_INSTANCES, seconds=INSTANCE_REMEMBERED_SECONDS, size=lambda _: 1)


def instance_of(answer: ApiResponse) -> Instance:
    """Either API version; forks have `max_toot_chars`. Raises UnreadableAnswer."""
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


@dataclass(frozen=True, slots=True)
class Status:
    """Not yet cut; with `lines`, a thread."""

    parts: tuple[FittingPart, ...]
    lines: tuple[Line, ...]
    link: str
    images: tuple[PostImage, ...]
    visibility: str
    quotes: str
    language: str
    spoiler: str
    sensitive: bool

    def texts(self, limits: StatusLimits) -> list[str]:
        """Raises DoesNotFit."""
        fits = fits_status(limits, warning=self.spoiler)
        return thread_of(fit_parts(self.parts, fits), self.lines, fits, most=LONGEST_THREAD)


def status_of(post: Announcement, options: Mapping[str, str]) -> Status:
    """Mention nobody."""
    template, is_thread = options.get("template", ""), post.is_digest and bool(options.get("thread"))
    parts = parts_of(post, template)
    if not template and not post.own_words:
        titles = () if is_thread else ("titles",)
        parts += extra_parts(
            post, (*titles, *(name for name in ("hashtags", "summary") if options.get(name)))
        )
    return Status(
        parts=tuple(part if part.link else replace(part, text=unmentioned(part.text)) for part in parts),
        lines=tuple(Line(unmentioned(line.title), line.link) for line in post.lines) if is_thread else (),
        link=post.link if any(post.link in (part.link, part.text) for part in parts) else "",
        images=(post.images or post.sensitive_images)[: int(options.get("images") or 1)],
        visibility=options.get("visibility") or "public",
        quotes=options.get("quotes", ""),
        language=post.language,
        spoiler=unmentioned(plain_line(options.get("spoiler", "") or post.warning)),
        sensitive=bool(post.sensitive_images),
    )
