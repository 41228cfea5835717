"""Which of the languages that readers' pages and mails are in (LANGUAGES) suits a tag, or a browser."""

from django.conf import settings
from django.http import HttpRequest
from django.utils.translation.trans_real import get_supported_language_variant, parse_accept_lang_header

BRITISH = "en-gb"
# Where English is written with the month before the day. All others write it as the British do.
MONTH_FIRST = frozenset(("us", "ph", "pr", "gu", "vi", "as", "mp", "um", "pw", "fm", "mh"))


def spoken_variety(tag: str) -> str:
    """The nearest language, British for the English of most countries. Raises LookupError if none is near."""
    found: str = get_supported_language_variant(tag.lower())
    if found != "en":
        return found
    regions = [part for part in tag.lower().split("-")[1:] if len(part) == 2 or part.isdecimal()]
    is_british = bool(regions) and regions[0] not in MONTH_FIRST
    return str(get_supported_language_variant(BRITISH)) if is_british else found


def asked_for(request: HttpRequest) -> str:
    """What the browser asks for, or else English."""
    for tag, _ in parse_accept_lang_header(request.headers.get("Accept-Language", "")):
        if tag == "*":
            break
        try:
            return spoken_variety(tag)
        except LookupError:
            continue
    return settings.LANGUAGE_CODE
