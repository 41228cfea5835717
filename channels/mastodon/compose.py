"""An announcement as a status. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from channels.announcement import Announcement, Line, PostImage
from channels.http.links import unmentioned
from channels.http.priced_links import StatusLimits, fits_status
from channels.letter import Recipient
from channels.mastodon.spec import VISIBILITIES
from channels.wording import extra_parts, parts_of, thread_of
from common.truncation import FittingPart, fit_parts, plain_line

# A digest that is longer is read on its page.
LONGEST_THREAD = 10


@dataclass(frozen=True, slots=True)
class Message:
    """A status yet to be fitted to its instance; with `lines`, a thread. With a `refusal` there is nothing to
    post."""

    instance_url: str
    access_token: str = field(repr=False)
    parts: tuple[FittingPart, ...] = ()
    lines: tuple[Line, ...] = ()
    link: str = ""
    images: tuple[PostImage, ...] = ()
    visibility: str = "public"
    quotes: str = ""
    language: str = ""
    spoiler: str = ""
    sensitive: bool = False
    refusal: str = ""

    def texts(self, limits: StatusLimits) -> list[str]:
        """Of the status and of those that follow it in its thread. Raises DoesNotFit."""
        fits = fits_status(limits, warning=self.spoiler)
        return thread_of(fit_parts(self.parts, fits), self.lines, fits, most=LONGEST_THREAD)


def status_of(said: Announcement, options: Mapping[str, str], recipient: Recipient) -> Message:
    """The status of a post or a digest. It mentions nobody."""
    template, is_thread = options.get("template", ""), said.is_digest and bool(options.get("thread"))
    parts = parts_of(said, template)
    if not template and not said.own_words:
        titles = () if is_thread else ("titles",)
        parts += extra_parts(
            said, (*titles, *(name for name in ("hashtags", "summary") if options.get(name)))
        )
    return Message(
        instance_url=recipient.config.get("instance_url", ""),
        access_token=recipient.secrets.get("access_token", ""),
        parts=tuple(part if part.link else replace(part, text=unmentioned(part.text)) for part in parts),
        lines=tuple(Line(unmentioned(line.title), line.link) for line in said.lines) if is_thread else (),
        link=said.link if any(said.link in (part.link, part.text) for part in parts) else "",
        images=(said.images or said.sensitive_images)[: int(options.get("images") or 1)],
        visibility=options.get("visibility") or next(iter(VISIBILITIES)),
        quotes=options.get("quotes", ""),
        language=said.language,
        spoiler=unmentioned(plain_line(options.get("spoiler", "") or said.warning)),
        sensitive=bool(said.sensitive_images),
        refusal=said.refusal,
    )
