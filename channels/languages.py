"""Languages: which one to write in."""

from django.conf.locale import LANG_INFO
from django.utils import translation

from common.directions import language_tag
from common.languages import spoken_variety

DEFAULT_LANGUAGE = "en"


def spoken(language: str) -> str:
    """The nearest language that the program's own words are there in; English if none is near."""
    try:
        return spoken_variety(language_tag(language))
    except LookupError:
        return DEFAULT_LANGUAGE


def dated_in(language: str) -> str:
    """The language for a letter's dates: its own if Django knows it, also where our words are English."""
    tag = language_tag(language).lower()
    if not speaks(language):
        for code in (*LANG_INFO.get(tag, {}).get("fallback", ()), tag, _primary(tag)):
            if translation.check_for_language(code):
                return str(code)
    return spoken(language)


def speaks(language: str) -> bool:
    """Whether the program's own words are there in it. What is no language is taken for English."""
    tag = language_tag(language).lower()
    return not tag or _primary(tag) == _primary(spoken(tag))


def _primary(tag: str) -> str:
    return tag.partition("-")[0]
