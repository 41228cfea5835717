"""Languages for letters and pages."""

from django.conf.locale import LANG_INFO
from django.utils import translation

from common.directions import language_tag
from common.languages import spoken_variety

DEFAULT_LANGUAGE = "en"


def spoken(language: str) -> str:
    """Return the nearest available translation, or English."""
    try:
        return spoken_variety(language_tag(language))
    except LookupError:
        return DEFAULT_LANGUAGE


def dated_in(language: str) -> str:
    """Return the language for dates: the letter's, if Django knows it, even without our translation."""
    tag = language_tag(language).lower()
    if not speaks(language):
        for code in (*LANG_INFO.get(tag, {}).get("fallback", ()), tag, _primary(tag)):
            if translation.check_for_language(code):
                return str(code)
    return spoken(language)


def speaks(language: str) -> bool:
    """Return whether a translation exists. Invalid tags count as English."""
    tag = language_tag(language).lower()
    return not tag or _primary(tag) == _primary(spoken(tag))


def _primary(tag: str) -> str:
    return tag.partition("-")[0]
