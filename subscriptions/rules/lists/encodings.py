"""Encodings of lists that are not UTF-8: nobody can tell from the octets alone, but a name shows it."""

import codecs
import re
from collections.abc import Sequence

from charset_normalizer import from_bytes

# As spreadsheet programs write them.
ENCODINGS = (
    "windows-1252",
    "windows-1250",
    "windows-1251",
    "windows-1253",
    "windows-1254",
    "windows-1257",
    "cp932",
    "gb18030",
    "big5",
    "euc-kr",
)
MOST_PROPOSED, NAMES_SHOWN = 4, 3
_CELL = re.compile(r"[^,;\t\r\n\"]+")


def likely_encodings(lines: Sequence[bytes]) -> list[tuple[str, list[str]]]:
    """Return encodings, the likeliest first, each with texts that no other reads like it."""
    text = b"\n".join(lines)
    names = {codecs.lookup(encoding).name: encoding for encoding in ENCODINGS}
    ranked = [names.get(match.encoding, "") for match in from_bytes(text, cp_isolation=list(names))]
    readings: dict[str, dict[str, None]] = {}
    for encoding in dict.fromkeys((*filter(None, ranked), *ENCODINGS)):
        try:
            cells = _CELL.findall(text.decode(encoding))
        except UnicodeDecodeError:
            continue
        foreign = dict.fromkeys(
            cell.strip(" “”'")[:40] for cell in cells if not cell.isascii() and "@" not in cell
        )
        if foreign and all(map(str.isprintable, foreign)) and foreign not in readings.values():
            readings[encoding] = foreign
        if len(readings) == MOST_PROPOSED:
            break
    return [
        (
            encoding,
            sorted(cells, key=lambda cell: sum(cell in each for each in readings.values()))[:NAMES_SHOWN],
        )
        for encoding, cells in readings.items()
    ]


def encoding_words(lines: int, proposals: Sequence[tuple[str, Sequence[str]]]) -> str:
    readings = "; ".join(f"{encoding}: {', '.join(names)}" for encoding, names in proposals)
    are = "1 line is" if lines == 1 else f"{lines:,} lines are"
    if not readings:
        return f"{are} not UTF-8. Save the file as UTF-8."
    return f"{are} not UTF-8. In which encoding are the names right? {readings}."
