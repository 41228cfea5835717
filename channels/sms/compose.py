"""A letter as a text message. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from channels.announcement import Announcement, announcement_of
from channels.http.links import normalised
from channels.http.measures import sms_parts, utf16_units
from channels.letter import Letter, Recipient
from channels.sms.letters import sms_text
from channels.wording import headline, parts_of, text_of_unlinked
from common.truncation import DoesNotFit, FittingPart, fit_parts

# https://www.twilio.com/docs/api/errors/21617
LONGEST_TEXT = 1_600
# A link must leave room for so much of a title, or a shorter one is better.
LEAST_TITLE = 20
# Of a mail that is no issue, which nobody has set a measure for.
MAIL_PARTS = 3
CODE_SECONDS = 600
NEW_POST = "New post"
NO_ROOM = (
    "The post’s link alone is longer than the message may be, and the newsletter has no page for it with a"
    " shorter one. Allow more parts, or make the newsletter public or unlisted."
)
LATE = "There was no room in which it could be sent, and now it would be too late."


@dataclass(frozen=True, slots=True)
class TextMessage:
    """`to` in E.164. `seconds`: after so many it is of no use; 0: always. With a `refusal` there is nothing
    to send."""

    to: str = ""
    body: str = ""
    delivery_id: int = 0
    seconds: int = 0
    refusal: str = ""


def sms_of(letter: Letter) -> TextMessage:
    """The message for all recipients."""
    if not letter.entries:
        body = sms_text(letter.text.strip())
        if not body:
            return TextMessage(refusal=LATE)
        seconds = CODE_SECONDS if letter.kind == "confirmation" else 0
        is_long = sms_parts(body) > MAIL_PARTS
        return TextMessage(refusal=NO_ROOM) if is_long else TextMessage(body=body, seconds=seconds)
    said = announcement_of(letter)
    if said.refusal:
        return TextMessage(refusal=said.refusal)
    as_written = letter.options.get("letters") == "all"
    fits = fits_parts(parts_allowed(letter.options), as_written=as_written)
    try:
        linked = replace(said, link=_fitting_link(said.link, letter.web_url, fits))
        words = fit_parts(_words(linked, letter.options.get("template", "")), fits)
    except DoesNotFit:
        return TextMessage(refusal=NO_ROOM)
    return TextMessage(body=sms_text(words, as_written=as_written).strip())


def to_recipient(message: TextMessage, recipient: Recipient) -> TextMessage:
    return replace(message, to=recipient.core, delivery_id=recipient.delivery_id)


def parts_allowed(options: Mapping[str, str]) -> int:
    return int(options.get("parts") or 1)


def fits_parts(most: int, *, as_written: bool = False) -> Callable[[str], bool]:
    """Whether a text, in the letters it will have, takes no more parts."""

    def fits(text: str) -> bool:
        written = sms_text(text[: 2 * LONGEST_TEXT], as_written=as_written)
        is_bounded = len(text) <= 2 * LONGEST_TEXT and utf16_units(written) <= LONGEST_TEXT
        return is_bounded and sms_parts(written) <= most

    return fits


def _fitting_link(link: str, own: str, fits: Callable[[str], bool]) -> str:
    """The post's, unless it leaves no room for a title and our own page's does; "" where there is neither.

    Raises DoesNotFit.
    """
    if not (link or own):
        return ""
    usable = [one for one in map(normalised, filter(None, (link, own))) if one.isascii()]
    for room in ("x" * LEAST_TITLE, ""):
        for one in usable:
            if fits(f"{room} {one}"):
                return one
    raise DoesNotFit("No link is short enough.")


def _words(said: Announcement, template: str) -> list[FittingPart]:
    if said.own_words or template:
        return parts_of(said, template)
    end = [FittingPart(" "), FittingPart(said.link, link=said.link)] if said.link else text_of_unlinked(said)
    return [
        FittingPart(f"{said.newsletter_title}: ", optional=1),
        FittingPart(headline(said) or NEW_POST, cuttable=True),
        *end,
    ]
