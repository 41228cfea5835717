import re
import unicodedata

_TAG = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*", re.ASCII)
_RTL_LANGUAGES = frozenset(("ar", "arc", "ckb", "dv", "fa", "he", "iw", "ps", "sd", "ug", "ur", "yi"))
_RTL_SCRIPTS = frozenset(("arab", "hebr", "syrc", "thaa", "nkoo", "adlm"))
_MAY_BE_RTL = re.compile(
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\U00010800-\U00010fff\U0001e800-\U0001efff]"
)
_LOOKED_AT = 500


def language_tag(language: str) -> str:
    """Return a BCP 47 tag, or ""."""
    tag = language.strip().replace("_", "-")
    return tag if _TAG.fullmatch(tag) and len(tag) <= 35 else ""


def direction(language: str) -> str:
    first, *rest = language_tag(language).lower().split("-")
    scripts = [part for part in rest if len(part) == 4 and part.isalpha()]
    return "rtl" if (scripts[0] in _RTL_SCRIPTS if scripts else first in _RTL_LANGUAGES) else "ltr"


def text_direction(text: str, language: str) -> str:
    """Return `rtl`, `ltr` or "".

    In a right-to-left language one such letter decides, because texts have foreign names; else most letters.
    """
    right, left = _strong_letters(text)
    if not right:
        return "ltr" if left else direction(language)
    return "rtl" if right > left or direction(language) == "rtl" else "ltr"


def own_direction(text: str) -> str:
    right, left = _strong_letters(text)
    return "rtl" if right > left else "ltr" if left else ""


def may_be_rtl(text: str) -> bool:
    return _MAY_BE_RTL.search(text) is not None


def title_direction(title: str, of_text: str) -> str:
    right, left = _strong_letters(title)
    if not right and not left:
        return of_text
    has_both = bool(right and left)
    return of_text if has_both else "rtl" if right else "ltr"


def _strong_letters(text: str) -> tuple[int, int]:
    """Count right-to-left and left-to-right letters (UAX #9)."""
    text = text[:_LOOKED_AT]
    if not _MAY_BE_RTL.search(text):
        return 0, int(any(map(str.isalpha, text)))
    classes = [unicodedata.bidirectional(character) for character in text if character.isalpha()]
    left = classes.count("L")
    return classes.count("R") + classes.count("AL"), left
