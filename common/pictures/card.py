"""Pictures for link previews, drawn from words. Uses no Django."""

import unicodedata
from functools import lru_cache

from PIL import Image, ImageColor, ImageDraw, ImageFont

from common.pictures.codec import as_file
from common.text import shortened

# As services crop previews: 1.91 to 1.
CARD_WIDTH, CARD_HEIGHT = 1200, 630
MARGIN = 84
RULE_WIDTH, RULE_HEIGHT, SPACE = 96, 10, 40
# Of the title, the largest that fits first.
SIZES = (88, 74, 62, 52)
NAME_SIZE, INITIAL_SIZE = 36, 340
MOST_TITLE_LINES, LINE_HEIGHT = 4, 1.18
LONGEST_TITLE, LONGEST_NAME = 200, 48
FEWEST_COLOURS = 64
# No font has it.
NOTHING = "\U0010ffff"


def card(*, title: str, name: str, host: str, ground: str, ink: str, bold: str, medium: str) -> bytes:
    """Return a PNG with words in `ink`, a colour like `ground`; `bold` and `medium` are files of fonts.

    Where the font lacks letters of the title, the name's initial is drawn instead.
    """
    image = Image.new("RGB", (CARD_WIDTH, CARD_HEIGHT), ground)
    draw, quiet, mark = ImageDraw.Draw(image), _mixed(ground, ink, 0.85), _mixed(ground, ink, 0.45)
    small, room = _font(medium, NAME_SIZE), CARD_WIDTH - 2 * MARGIN
    draw.rounded_rectangle((MARGIN, MARGIN, MARGIN + RULE_WIDTH, MARGIN + RULE_HEIGHT), 5, fill=mark)
    bottom, title = CARD_HEIGHT - MARGIN, _drawable(bold, shortened(title, LONGEST_TITLE))
    name = _drawable(medium, shortened(name, LONGEST_NAME))
    above = bottom - NAME_SIZE - SPACE
    if title:
        _write_title(draw, title, ink, bold, room, above)
    elif name:
        draw.text((MARGIN, above), name[0].upper(), ink, _font(bold, INITIAL_SIZE), "ls")
    draw.text((MARGIN, bottom), name, quiet, small, "ls")
    if small.getlength(host) + small.getlength(name) < room - MARGIN:
        draw.text((CARD_WIDTH - MARGIN, bottom), host, quiet, small, "rs")
    return as_file(image.quantize(FEWEST_COLOURS), "PNG", optimize=True)


def _write_title(draw: ImageDraw.ImageDraw, title: str, ink: str, file: str, room: int, bottom: int) -> None:
    top = MARGIN + RULE_HEIGHT + SPACE
    for size in SIZES:
        font, height = _font(file, size), size * LINE_HEIGHT
        lines = _lines(title, font, room)
        if len(lines) <= min(MOST_TITLE_LINES, (bottom - top) // height):
            break
    else:
        lines = [*lines[: MOST_TITLE_LINES - 1], f"{lines[MOST_TITLE_LINES - 1][:-2].rstrip()}…"]
    for number, line in enumerate(lines):
        draw.text((MARGIN, top + height * number), line, ink, font)


def _lines(text: str, font: ImageFont.FreeTypeFont, room: int) -> list[str]:
    """Break at spaces, and long words anywhere."""
    lines = [""]
    for word in text.split():
        if font.getlength(longer := f"{lines[-1]} {word}".lstrip()) <= room:
            lines[-1] = longer
            continue
        lines += [""] if lines[-1] else []
        for letter in word:
            if font.getlength(lines[-1] + letter) > room:
                lines.append("")
            lines[-1] += letter
    return lines


def _drawable(file: str, text: str) -> str:
    """Return the text without signs that the font lacks, or "" if it lacks letters."""
    text, font = unicodedata.normalize("NFC", text), _font(file, NAME_SIZE)
    missing = bytes(font.getmask(NOTHING))
    lacks = {each for each in set(text) if not each.isspace() and bytes(font.getmask(each)) == missing}
    if any(each.isalnum() or unicodedata.combining(each) for each in lacks):
        return ""
    return " ".join("".join(each for each in text if each not in lacks).split())


def _mixed(ground: str, ink: str, share: float) -> tuple[int, ...]:
    pairs = zip(ImageColor.getrgb(ground), ImageColor.getrgb(ink), strict=True)
    return tuple(round(under + (over - under) * share) for under, over in pairs)


@lru_cache(maxsize=16)
def _font(file: str, size: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(file, size, layout_engine=ImageFont.Layout.BASIC)
