"""Twilio's error codes: https://www.twilio.com/docs/api/errors"""

import hmac
import re
import unicodedata
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha1
from urllib.parse import urlsplit, urlunsplit

from channels.announcement import Announcement, announcement_of
from channels.base import CannotPost
from channels.http.links import DEFAULT_PORTS, GSM_EXTENSION, GSM_LETTERS, normalised, sms_parts, utf16_units
from channels.http.outcomes import ApiService, Verdict
from channels.http.transport import ApiResponse
from channels.letter import Letter
from channels.wording import headline, parts_of, text_of_unlinked
from common.truncation import DoesNotFit, FittingPart, fit_parts

TWILIO_API = "https://api.twilio.com"
SAID_STOP = 21610
_GONE = (
    21211,  # invalid number
    21214,  # cannot be reached
    21408,  # a country that the account may not write to
    SAID_STOP,  # its owner answered STOP
    21612,  # no route from the sender
    21614,  # not a mobile phone
    21635,  # a landline
)
_ACCOUNT = (
    20003,  # the token
    20005,  # not active
    20404,  # no such account
    21603, 21606, 21659, 21660,  # the sender
    21703, 21704, 21705,  # the messaging service
    30002,  # suspended
)  # fmt: skip
# The queue is full; too many requests.
_BUSY = (20429, 21611, 30001)
# Unreachable; unknown reason.
_AGAIN = (30003, 30008)
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


def signature_of(token: str, url: str, form: Mapping[str, Sequence[str]]) -> str:
    """Return HMAC-SHA1 of URL and sorted fields. Repeated values count once."""
    fields = (f"{name}{value}" for name in sorted(form) for value in sorted(set(form[name])))
    mac = hmac.new(token.encode(), (url + "".join(fields)).encode("utf-8", "replace"), sha1)
    return b64encode(mac.digest()).decode()


def is_signed(token: str, url: str, form: Mapping[str, Sequence[str]], given: str) -> bool:
    """Twilio may sign the URL with or without the port."""
    octets = given.encode("utf-8", "replace")
    good = [
        hmac.compare_digest(octets, signature_of(token, one, form).encode()) for one in (url, _with_port(url))
    ]
    return bool(token) and any(good)


def _with_port(url: str) -> str:
    parts = urlsplit(url)
    port = DEFAULT_PORTS.get(parts.scheme)
    if parts.port is not None or port is None:
        return url
    return urlunsplit(parts._replace(netloc=f"{parts.netloc}:{port}"))


def said_in(answer: ApiResponse) -> str:
    words, code = answer.at("message"), answer.at("code")
    if not isinstance(words, str):
        return ""
    return f"{words} ({code})" if isinstance(code, int) and str(code) not in words else words


TWILIO = ApiService(
    name="Twilio",
    words=said_in,
    # Some answers for a missing account have no code.
    code=lambda answer: 20003 if answer.status == 401 else answer.at("code"),
    verdicts={
        **dict.fromkeys(_GONE, Verdict.DESTINATION),
        **dict.fromkeys(_ACCOUNT, Verdict.SHARED),
        **dict.fromkeys(_BUSY, Verdict.STOPS),
        **dict.fromkeys(_AGAIN, Verdict.TRY_AGAIN),
        21617: Verdict.MESSAGE,
    },
    advice="Look up the code at twilio.com/docs/api/errors.",
)
