"""The letters of a text message: those of the networks' alphabet are cheap, any other halves the room.

Pure.
"""

import re
import unicodedata

from channels.http.measures import GSM_EXTENSION, GSM_LETTERS

# What type setters use, as typewriters had it.
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


def sms_text(text: str, *, as_written: bool = False) -> str:
    """The text in letters of the networks' alphabet where each has a likeness there, else as it is written;
    without control characters and what turns the direction of writing.

    Accents that the alphabet lacks are left out, and pictures where all else fits. `as_written` keeps both.
    """
    kept = "".join(char for char in unicodedata.normalize("NFC", text) if _is_usable(char))
    if as_written:
        return kept
    simple = "".join(map(_likeness, kept))
    return _SPACES.sub(" ", simple) if is_simple(simple) else kept


def is_simple(text: str) -> bool:
    """Whether all its letters are of the networks' alphabet (GSM 03.38)."""
    return all(char in GSM_LETTERS or char in GSM_EXTENSION for char in text)


def _is_usable(char: str) -> bool:
    # A joiner belongs to words of some scripts, and to pictures.
    return char == "\n" or char in _JOINERS or unicodedata.category(char) not in ("Cc", "Cf", "Cs")


def _likeness(char: str) -> str:
    """What stands for it in the networks' alphabet; itself where nothing does."""
    if is_simple(char):
        return char
    if char in _PLAIN:
        return _PLAIN[char]
    base = "".join(one for one in unicodedata.normalize("NFKD", char) if not unicodedata.combining(one))
    if base and is_simple(base):
        return base
    is_picture = unicodedata.category(char) in ("So", "Sk", "Mn", "Me") or char in _JOINERS
    return "" if is_picture else char
