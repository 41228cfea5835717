"""Words of others in Discord's markup, in which they stay words. Pure."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime

from common.truncation import FittingPart

ZERO_WIDTH_SPACE = "\u200b"
# The colon too: `:name:` is an emoji, and `https:` begins a link.
_MARKUP = re.compile(r"[\\*_~|>\[\]()#\-<:`]")
# At the end of a part, too: another follows.
_EVERYBODY = re.compile(r"@(?=everyone|here|\Z)", re.IGNORECASE)
_ESCAPED = re.compile(r"\\([^0-9A-Za-z\s])")
# As they are written here: [words](<address>), or <address> alone.
_LINK = re.compile(r"\[((?:[^\]\\]|\\.)*)\]\(<[^<>\s]*>\)|(?<!\\)<(https?://[^<>\s]*)>")
# Of a post in brief: what is bold, the quotation, and the age.
_FRAME = re.compile(r"(?<!\\)\*\*|^> ", re.MULTILINE)
_AGO = re.compile(r"<t:(\d{1,12}):R>")
# Where a link without brackets stands, Discord leaves these out at its end.
_LEFT_OUT = re.compile(r"[.,:;\"'\])]+$")


def ago(moment: datetime) -> str:
    """How long ago it was, which Discord goes on counting in everybody's own language."""
    return f"<t:{int(moment.timestamp())}:R>"


def unaddressed(text: str) -> str:
    """The text, in which nobody is called; for where Discord knows no markup."""
    return _EVERYBODY.sub(f"@{ZERO_WIDTH_SPACE}", text)


def escaped(text: str) -> str:
    return unaddressed(_MARKUP.sub(lambda match: f"\\{match[0]}", text))


def written(part: FittingPart) -> str:
    """In markup: a link in brackets shows no preview, and ends where it ends."""
    if not part.link:
        return escaped(part.text)
    url = f"<{_url(part.link)}>"
    return url if part.text == part.link else f"[{escaped(part.text)}]({url})"


def with_preview(part: FittingPart) -> str:
    """As `written`, with a preview of the link; for `apart` parts."""
    if not part.link or part.text != part.link:
        return written(part)
    return _LEFT_OUT.sub(lambda match: "".join(f"%{ord(char):02X}" for char in match[0]), _url(part.link))


def apart(parts: Sequence[FittingPart]) -> list[FittingPart]:
    """The parts, in which a space stands before and after each link."""
    made: list[FittingPart] = []
    for part in parts:
        last = made[-1] if made else FittingPart(" ")
        if (part.link or last.link) and not (last.text[-1:].isspace() or part.text[:1].isspace()):
            made.append(FittingPart(" "))
        made.append(part)
    return made


def shown(text: str) -> str:
    """What people see of a text in markup that was written here; of a link its words."""
    text = _AGO.sub(lambda match: f"{datetime.fromtimestamp(int(match[1]), UTC):%Y-%m-%d}", text)
    text = _FRAME.sub("", _LINK.sub(lambda match: match[1] or match[2], text))
    return _ESCAPED.sub(r"\1", text)


def _url(link: str) -> str:
    return _EVERYBODY.sub("%40", link.replace(">", "%3E"))
