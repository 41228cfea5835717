"""Numbers of list items (WHATWG HTML §4.4.5)."""

import re

_LIST_TAG = re.compile(r"<(?P<end>/?)(?P<name>ol|ul|li)(?=[\s>])(?P<values>[^<>]*)>")
_REVERSED, _START = re.compile(r"\sreversed(?![\w-])"), re.compile(r"\sstart\s*=")
_INTEGER = re.compile(r"\s*([-+]?\d{1,9})", re.ASCII)
_ROMAN = (
    *((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l")),
    *((40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i")),
)
_MOST_ROMAN = 3_999


class Numbers:
    def __init__(self, values: dict[str, str]) -> None:
        self._step = -1 if "reversed" in values else 1
        self._next = integer(values.get("start", ""), otherwise=1)
        self._kind = values.get("type", "")

    def marker(self, item: dict[str, str]) -> str:
        """Return "3." or "c."; `item` has the next item's attributes."""
        number = integer(item.get("value", ""), otherwise=self._next)
        self._next = number + self._step
        return f"{ordinal(number, item.get('type') or self._kind)}."


def integer(text: str, *, otherwise: int) -> int:
    match = _INTEGER.match(text)
    return int(match[1]) if match else otherwise


def ordinal(number: int, kind: str) -> str:
    """Format in letters (`kind` a or A), Roman numerals (i or I) or digits."""
    if kind in ("a", "A") and number > 0:
        letters = ""
        while number:
            number, rest = divmod(number - 1, 26)
            letters = chr(ord(kind) + rest) + letters
        return letters
    if kind in ("i", "I") and 0 < number <= _MOST_ROMAN:
        roman = ""
        for value, letters in _ROMAN:
            roman += letters * (number // value)
            number %= value
        return roman.upper() if kind == "I" else roman
    return str(number)


def with_starts(html: str) -> str:
    if " reversed" not in html:
        return html
    counts: dict[int, int] = {}
    open_lists: list[int] = []
    for tag in _LIST_TAG.finditer(html):
        if tag["name"] == "li":
            if open_lists and not tag["end"]:
                counts[open_lists[-1]] += 1
        elif not tag["end"]:
            open_lists.append(tag.start())
            counts[tag.start()] = 0
        elif open_lists:
            open_lists.pop()

    def started(tag: re.Match[str]) -> str:
        is_counted = tag["name"] == "ol" and not tag["end"] and _REVERSED.search(tag["values"])
        if not is_counted or _START.search(tag["values"]):
            return tag[0]
        return f'<ol start="{counts[tag.start()]}"{tag["values"]}>'

    return _LIST_TAG.sub(started, html)
