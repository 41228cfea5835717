from django.conf import settings
from django.http import HttpRequest
from django.utils.translation.trans_real import get_supported_language_variant, parse_accept_lang_header

BRITISH = "en-gb"
# Others get British English.
MONTH_FIRST = frozenset(("us", "ph", "pr", "gu", "vi", "as", "mp", "um", "pw", "fm", "mh"))


def spoken_variety(tag: str) -> str:
    """Return the nearest language, or raise LookupError."""
    language: str = get_supported_language_variant(tag.lower())
    if language != "en":
        return language
    regions = [part for part in tag.lower().split("-")[1:] if len(part) == 2 or part.isdecimal()]
    is_british = bool(regions) and regions[0] not in MONTH_FIRST
    return str(get_supported_language_variant(BRITISH)) if is_british else language


def asked_for(request: HttpRequest) -> str:
    for tag, _ in parse_accept_lang_header(request.headers.get("Accept-Language", "")):
        if tag == "*":
            break
        try:
            return spoken_variety(tag)
        except LookupError:
            continue
    return settings.LANGUAGE_CODE
