import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, replace

from channels.announcement import Announcement, announcement_of
from channels.base import CannotPost
from channels.http.links import normalised
from channels.http.measures import GSM_EXTENSION, GSM_LETTERS, sms_parts, utf16_units
from channels.letter import Letter
from channels.wording import headline, parts_of, text_of_unlinked
from common.truncation import DoesNotFit, FittingPart, fit_parts

# Simple equivalents.
_PLAIN = {
    **dict.fromkeys("‘’‚‛′‹›`´", "'"),
    **dict.fromkeys("“”„‟″«»", '"'),
    **dict.fromkeys("‐‑‒–—―−", "-"),
    **dict.fromkeys("•·∙▪●◦", "-"),
    **dict.fromkeys("\u00a0\u202f\u205f\u3000", " "), **{chr(code): " " for code in range(0x2000, 0x200B)},
    "…": "...", "⁄": "/", "×": "x", "÷": ":", "→": "->", "←": "<-", "⇒": "=>",
    "©": "(c)", "®": "(R)", "™": "(TM)", "№": "No.", "Œ": "OE", "œ": "oe", "Ł": "L", "ł": "l",
    "Đ": "D", "đ": "d", "Ð": "D", "ð": "d", "Þ": "Th", "þ": "th", "ı": "i", "Ħ": "H", "ħ": "h", "ẞ": "SS",
}  # fmt: skip
_JOINERS = "\u200c\u200d"
_SPACES = re.compile(" {2,}")
# https://www.twilio.com/docs/api/errors/21617
LONGEST_TEXT = 1_600
# A shorter link is better than less room for the title.
LEAST_TITLE = 20
# For other mails, which have no setting.
MAIL_PARTS = 3
CODE_SECONDS = 600
NEW_POST = "New post"
NO_ROOM = (
    "The post’s link alone is longer than the message allows, and the newsletter has no page "
    "with a shorter link. Allow more parts, or make the newsletter public or unlisted."
)
LATE = "It couldn’t be sent within the sending limits in time, and now it’s too late."


def sms_text(text: str, *, as_written: bool = False) -> str:
    """Remove control characters and direction marks; use the GSM alphabet if possible.

    Accents outside the alphabet and pictures are dropped, but only if the rest fits. Otherwise, and with
    `as_written`, the text is not converted.
    """
    kept = "".join(char for char in unicodedata.normalize("NFC", text) if _is_usable(char))
    if as_written:
        return kept
    simple = "".join(map(_likeness, kept))
    return _SPACES.sub(" ", simple) if is_simple(simple) else kept


def is_simple(text: str) -> bool:
    return all(char in GSM_LETTERS or char in GSM_EXTENSION for char in text)


def _is_usable(char: str) -> bool:
    # Joiners are part of words in some scripts, and of pictures.
    return char == "\n" or char in _JOINERS or unicodedata.category(char) not in ("Cc", "Cf", "Cs")


def _likeness(char: str) -> str:
    if is_simple(char):
        return char
    if char in _PLAIN:
        return _PLAIN[char]
    base = "".join(one for one in unicodedata.normalize("NFKD", char) if not unicodedata.combining(one))
    if base and is_simple(base):
        return base
    is_picture = unicodedata.category(char) in ("So", "Sk", "Mn", "Me") or char in _JOINERS
    return "" if is_picture else char


@dataclass(frozen=True, slots=True)
class TextMessage:
    """`seconds` is its validity (0: unlimited)."""

    text: str
    seconds: int = 0


def sms_of(letter: Letter) -> TextMessage:
    """Raises CannotPost."""
    if not letter.entries:
        text = sms_text(letter.text.strip())
        if not text:
            raise CannotPost(LATE)
        if sms_parts(text) > MAIL_PARTS:
            raise CannotPost(NO_ROOM)
        return TextMessage(text, CODE_SECONDS if letter.kind == "confirmation" else 0)
    post = announcement_of(letter)
    if post.refusal:
        raise CannotPost(post.refusal)
    most, as_written = int(letter.options.get("parts") or 1), letter.options.get("letters") == "all"

    def fits(text: str) -> bool:
        written = sms_text(text[: 2 * LONGEST_TEXT], as_written=as_written)
        is_bounded = len(text) <= 2 * LONGEST_TEXT and utf16_units(written) <= LONGEST_TEXT
        return is_bounded and sms_parts(written) <= most

    try:
        linked = replace(post, link=_fitting_link(post.link, letter.web_url, fits))
        words = fit_parts(_words(linked, letter.options.get("template", "")), fits)
    except DoesNotFit:
        raise CannotPost(NO_ROOM) from None
    return TextMessage(sms_text(words, as_written=as_written).strip())


def _fitting_link(link: str, own: str, fits: Callable[[str], bool]) -> str:
    """Return the post's link, our page's if only that leaves room for a title, or "".

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


def _words(post: Announcement, template: str) -> list[FittingPart]:
    if post.own_words or template:
        return parts_of(post, template)
    end = [FittingPart(" "), FittingPart(post.link, link=post.link)] if post.link else text_of_unlinked(post)
    return [
        FittingPart(f"{post.newsletter_title}: ", optional=1),
        FittingPart(headline(post) or NEW_POST, cuttable=True),
        *end,
    ]
