"""MathML as text: its TeX source, else `alttext`, else one line such as (a+b)/2 or x^2."""

import re
from dataclasses import dataclass, field
from html import escape, unescape

_TEX = re.compile(r"(?:\bla)?tex\b", re.IGNORECASE)
_DISPLAY_STYLE = re.compile(r"\{\\(?:displaystyle|textstyle)\s+(.*)\}", re.DOTALL)
# Function application, invisible times, separator and plus; zero-width spaces.
_INVISIBLE = re.compile("[\u2061-\u2064\u200b-\u200d\ufeff]")
_SPACED = frozenset("=+-−±∓×÷·⋅∗<>≤≥≠≈≡∼≃≅∝→←↔⇒⇐⇔↦∈∉∋⊂⊆⊃⊇∪∩∧∨⊥⊕⊗∘:≔")
_AFTER = frozenset(",;")
_OPENING, _CLOSING = frozenset("([{⟨⌊⌈"), frozenset(")]}⟩⌋⌉!′″‴")
_ACCENTS = {"^": "\u0302", "ˆ": "\u0302", "¯": "\u0304", "‾": "\u0304", "→": "\u20d7", "⃗": "\u20d7"} | {
    "~": "\u0303",
    "˜": "\u0303",
    "˙": "\u0307",
    "¨": "\u0308",
}
_ROOTS = {"2": "√", "3": "∛", "4": "∜"}
_LEAVES = frozenset({"mi", "mn", "mo", "mtext", "ms"})
MAX_SOURCE = 5_000


@dataclass(slots=True)
class _Part:
    """`is_whole`: needs no parentheses. `name` is the element's."""

    text: str
    name: str = ""
    is_whole: bool = True


@dataclass(slots=True)
class _Element:
    name: str
    values: dict[str, str]
    parts: list[_Part] = field(default_factory=list)
    words: list[str] = field(default_factory=list)

    def take_words(self) -> None:
        if words := " ".join(unescape("".join(self.words)).split()):
            self.parts.append(_Part(words, "mtext"))
        self.words = []


class Formula:
    def __init__(self, values: dict[str, str]) -> None:
        self.display = values.get("display") == "block" or values.get("mode") == "display"
        self._alttext = values.get("alttext", "") or values.get("aria-label", "")
        self._tex = ""
        self._open = [_Element("math", {})]

    @property
    def depth(self) -> int:
        return len(self._open)

    def start(self, name: str, values: dict[str, str]) -> None:
        self._open[-1].take_words()
        self._open.append(_Element(name, values))

    def text(self, html: str) -> None:
        self._open[-1].words.append(html)

    def end(self) -> None:
        element = self._open.pop()
        if element.name in _LEAVES and not element.parts:
            self._open[-1].parts.append(_leaf(element, " ".join(unescape("".join(element.words)).split())))
            return
        element.take_words()
        words = " ".join(part.text for part in element.parts)
        if element.name in ("annotation", "annotation-xml"):
            if words and element.name == "annotation" and _TEX.search(element.values.get("encoding", "")):
                self._tex = self._tex or words
            elif words and "asciimath" in element.values.get("encoding", "").lower():
                self._alttext = self._alttext or words
            return
        self._open[-1].parts.append(_leaf(element, words) if element.name in _LEAVES else _folded(element))

    def html(self) -> str:
        while len(self._open) > 1:
            self.end()
        source = self._tex or self._alttext.strip()
        if source:
            inner = _DISPLAY_STYLE.fullmatch(source)
            source = (inner[1].strip() if inner else source)[:MAX_SOURCE]
            is_source = self._tex or re.search(r"[\\^_{]", source)
            return f"<code>{escape(source, quote=False)}</code>" if is_source else escape(source, quote=False)
        self._open[0].take_words()
        return escape(" ".join(_row(self._open[0].parts).text.split()), quote=False)


def _leaf(element: _Element, words: str) -> _Part:
    text = _INVISIBLE.sub("", words)
    if element.name == "ms":
        return _Part(f"“{text}”")
    if element.name == "mtext":
        return _Part(text.replace("\xa0", " "), "mtext", " " not in text)
    return _Part(text, element.name)


def _folded(element: _Element) -> _Part:
    parts, name = element.parts, element.name
    match name, len(parts):
        case "mphantom" | "none" | "mprescripts" | "mspace" | "maligngroup" | "malignmark", _:
            return _Part("", name)
        case "semantics" | "maction", n if n:
            return parts[0]
        case "mfrac", 2:
            return _Part(f"{_group(parts[0])}/{_group(parts[1])}", is_whole=False)
        case "msqrt", _:
            return _Part(f"√{_group(_row(parts))}")
        case "mroot", 2:
            if sign := _ROOTS.get(parts[1].text):
                return _Part(f"{sign}{_group(parts[0])}")
            return _Part(f"{_group(parts[0])}^(1/{_group(parts[1])})")
        case "menclose", _ if "radical" in element.values.get("notation", "longdiv"):
            return _Part(f"√{_group(_row(parts))}")
        case (("msub" | "munder"), 2):
            return _scripts(parts[0], parts[1], None)
        case "msup", 2:
            return _scripts(parts[0], None, parts[1])
        case "mover", 2:
            accent = _ACCENTS.get(parts[1].text)
            if accent and len(parts[0].text) == 1:
                return _Part(parts[0].text + accent)
            return _scripts(parts[0], None, parts[1])
        case (("msubsup" | "munderover"), 3):
            return _scripts(*parts)
        case "mmultiscripts", n if n:
            return _multiscripts(parts)
        case "mtable", _:
            return _Part(f"[{'; '.join(part.text for part in parts)}]")
        case (("mtr" | "mlabeledtr"), _):
            return _Part(", ".join(part.text for part in parts))
        case "mfenced", _:
            signs = [sign for sign in element.values.get("separators", ",") if not sign.isspace()]
            inner = ""
            for number, part in enumerate(parts):
                sign = signs[min(number - 1, len(signs) - 1)] + " " if number and signs else ""
                inner += sign + part.text
            opening, closing = element.values.get("open", "("), element.values.get("close", ")")
            return _Part(f"{opening}{inner}{closing}")
    return _row(parts)


def _row(parts: list[_Part]) -> _Part:
    parts = [part for part in parts if part.text]
    if len(parts) == 1:
        return parts[0]
    text, before = "", None
    for number, part in enumerate(parts):
        is_last = number == len(parts) - 1
        if part.name == "mo":
            is_sign = before is None or (before.name == "mo" and before.text[-1] not in _CLOSING)
            if part.text in _AFTER:
                text += f"{part.text} "
            elif (part.text in _SPACED or len(part.text) > 1) and not is_sign and not is_last:
                text = f"{text.rstrip()} {part.text} "
            else:
                text += part.text
        elif before is not None and _needs_space(before, part):
            text = f"{text.rstrip()} {part.text}"
        else:
            text += part.text
        before = part
    text = text.strip()
    is_whole = len(text) > 1 and text[0] in _OPENING and text[-1] in _CLOSING and _is_fence(parts)
    return _Part(text, is_whole=is_whole)


def _needs_space(before: _Part, part: _Part) -> bool:
    if before.name == "mo":
        is_word_after = part.name == "mtext" and before.text in _CLOSING
        return is_word_after or len(before.text) > 1 or before.text in "∑∏∫∬∮"
    is_word = (before.name == "mi" and len(before.text) > 1) or (part.name == "mi" and len(part.text) > 1)
    return is_word or "mtext" in (before.name, part.name) or not (before.is_whole and part.is_whole)


def _is_fence(parts: list[_Part]) -> bool:
    """Distinguish (a + b) from (a)(b)."""
    depth = 0
    for number, part in enumerate(parts):
        if part.name == "mo":
            depth += (part.text in _OPENING) - (part.text in ")]}⟩⌋⌉")
            if depth == 0 and number < len(parts) - 1:
                return False
    return depth == 0


def _group(part: _Part) -> str:
    text = part.text
    return text if part.is_whole or not text else f"({text})"


def _scripts(base: _Part, low: _Part | None, high: _Part | None) -> _Part:
    text = _group(base) if base.name != "mo" else base.text
    for sign, script in (("_", low), ("^", high)):
        if script is not None and script.text:
            is_prime = sign == "^" and script.text in "′″‴'"
            text += script.text if is_prime else f"{sign}{_group(script)}"
    return _Part(text, base.name if base.name == "mo" else "")


def _multiscripts(parts: list[_Part]) -> _Part:
    names = [part.name for part in parts]
    middle = names.index("mprescripts") if "mprescripts" in names else len(parts)
    text = ""
    for low, high in zip(parts[middle + 1 :: 2], parts[middle + 2 :: 2], strict=False):
        text += _scripts(_Part(""), low, high).text
    text += _group(parts[0])
    for low, high in zip(parts[1:middle:2], parts[2:middle:2], strict=False):
        text = _scripts(_Part(text), low, high).text
    return _Part(text)
