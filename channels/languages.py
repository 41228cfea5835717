from django.conf.locale import LANG_INFO
from django.utils import translation

from common.directions import language_tag
from common.languages import spoken_variety

DEFAULT_LANGUAGE = "en"
# Zones in which English dates begin with the month.
_MONTH_FIRST = ("America/", "US/", "Pacific/Honolulu", "Pacific/Guam", "UTC", "Etc/")


def spoken(language: str) -> str:
    """Return English if there is no translation near."""
    try:
        return spoken_variety(language_tag(language))
    except LookupError:
        return DEFAULT_LANGUAGE


def dated_in(language: str, zone: str = "UTC") -> str:
    """Return the letter's, if Django knows it, even without our translation.

    Plain English is British outside of America.
    """
    tag = language_tag(language).lower()
    if tag in ("", "en") and not zone.startswith(_MONTH_FIRST):
        return "en-gb"
    if not speaks(language):
        for code in (*LANG_INFO.get(tag, {}).get("fallback", ()), tag, _primary(tag)):
            if translation.check_for_language(code):
                return str(code)
    return spoken(language)


def speaks(language: str) -> bool:
    """Invalid tags count as English."""
    tag = language_tag(language).lower()
    return not tag or _primary(tag) == _primary(spoken(tag))


def _primary(tag: str) -> str:
    return tag.partition("-")[0]
