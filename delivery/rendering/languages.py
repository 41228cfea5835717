"""Languages: which one to write in, and the direction of its text."""

import re
import unicodedata

from django.conf.locale import LANG_INFO
from django.utils import translation

from common.languages import spoken_variety

DEFAULT_LANGUAGE = "en"
_TAG = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*", re.ASCII)
_RTL_LANGUAGES = frozenset(("ar", "arc", "ckb", "dv", "fa", "he", "iw", "ps", "sd", "ug", "ur", "yi"))
_RTL_SCRIPTS = frozenset(("arab", "hebr", "syrc", "thaa", "nkoo", "adlm"))


def language_tag(language: str) -> str:
    """The language as `lang` takes it (BCP 47); empty if it is none."""
    tag = language.strip().replace("_", "-")
    return tag if _TAG.fullmatch(tag) and len(tag) <= 35 else ""


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


def direction(language: str) -> str:
    """`rtl` or `ltr`, by the script in the tag or by the language."""
    first, *rest = language_tag(language).lower().split("-")
    scripts = [part for part in rest if len(part) == 4 and part.isalpha()]
    return "rtl" if (scripts[0] in _RTL_SCRIPTS if scripts else first in _RTL_LANGUAGES) else "ltr"


def direction_of(text: str, otherwise: str) -> str:
    """The direction of the first letter that has one (UAX #9, P2), within the first 500 characters."""
    for character in text[:500]:
        match unicodedata.bidirectional(character):
            case "L":
                return "ltr"
            case "R" | "AL":
                return "rtl"
    return otherwise
