"""Writes the parts of a message: text and html, encoded so that any server carries them whole. Pure.

A part is encoded once, with holes: each stands on a line of its own between soft line breaks, so that what
fills it is encoded by itself and the octets around it stay as they are.
"""

import base64
import binascii
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

# All control characters but tab and line ends: no letter needs them, and some readers stop at a NUL.
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_LINE_END = re.compile("\r\n|\r|\n|\u2028|\u2029")
_LATE_SPACE = re.compile(rb"(?<=[^\r\n]{73})(=20|=09)(?=\r\n|\Z)")
_ABOVE_ASCII = bytes(range(128, 256))
# RFC 2046 §5.1.1 needs a line that is in no part: quoted-printable writes "=" as "=3D", base64 has no "_".
BOUNDARY = "=_feedletter_part"
# RFC 2045 §6.7 (5): a line that ends so goes on with the next one.
_SOFT_BREAK = b"=\r\n"
# The same in html, text and quoted-printable: nearly all values are so.
_REST = "[A-Za-z0-9:/?#@_~+%;()!*,.-]"
_PLAIN = re.compile(f"[A-Za-z0-9:/?#@_~+%;(!*,-]{_REST}*(?: {_REST}+)*")
_LINE = 72

Written = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class BodyPart:
    """One part: `pieces` stand between the holes, which are filled by `fields`, one fewer than the pieces."""

    subtype: str
    encoding: str
    pieces: tuple[bytes, ...]
    fields: tuple[str, ...]
    written: Written


class Body:
    """The Content fields, the empty line and the parts; html last, as the better one (RFC 2046 §5.1.4)."""

    def __init__(self, parts: Sequence[BodyPart]) -> None:
        self.parts = tuple(parts)
        self._octets: list[bytes] = []
        # Where a value goes, its field, and the function that makes it fit for the part.
        self._placeholders: list[tuple[int, str, Written]] = []
        # Parts that are encoded as a whole, once they are filled.
        self._wholes: list[tuple[int, BodyPart]] = []
        has_several = len(self.parts) > 1
        if has_several:
            self._octets.append(f'Content-Type: multipart/alternative; boundary="{BOUNDARY}"\r\n'.encode())
        for part in self.parts:
            if has_several:
                self._octets.append(_BETWEEN)
            head = (
                f"Content-Type: text/{part.subtype}; charset=utf-8\r\n"
                f"Content-Transfer-Encoding: {part.encoding}\r\n\r\n"
            )
            self._octets.append(head.encode())
            if part.encoding == "base64" and part.fields:
                self._wholes.append((len(self._octets), part))
                self._octets.append(b"")
                continue
            self._octets.append(part.pieces[0])
            for name, piece in zip(part.fields, part.pieces[1:], strict=True):
                self._placeholders.append((len(self._octets), name, part.written))
                self._octets += (b"", _SOFT_BREAK + piece)
        if has_several:
            self._octets.append(_END)
        # RFC 5321 §4.5.2: such lines are changed on the way. A hole is on a line of its own.
        self._has_dots = b"\n." in b"\n".join(self._octets)

    def filled(self, values: Mapping[str, str]) -> tuple[list[bytes], bool]:
        """The octets of one recipient's message, from its Content fields on, in pieces; and whether a line
        may begin with a dot. A field without a value is empty."""
        octets, has_dots = self._octets.copy(), self._has_dots
        known: dict[str, bytes | None] = {}
        for place, name, written in self._placeholders:
            if name not in known:
                known[name] = _plain(values.get(name, ""))
            plain = known[name]
            if plain is None:
                octets[place], has_dots = _quoted(written(values[name])), True
            else:
                octets[place] = plain
        for place, part in self._wholes:
            whole = [part.pieces[0]]
            for name, piece in zip(part.fields, part.pieces[1:], strict=True):
                whole += (_with_crlf(part.written(values.get(name, ""))).encode(), piece)
            octets[place] = _lines_of_base64(b"".join(whole))
        return octets, has_dots


def _plain(value: str) -> bytes | None:
    """The value's octets where they need no care, on lines that are short enough; else None."""
    if not value:
        return b""
    if not _PLAIN.fullmatch(value):
        return None
    octets = value.encode("ascii")
    if len(octets) <= _LINE:
        return octets
    lines = _SOFT_BREAK.join(octets[at : at + _LINE] for at in range(0, len(octets), _LINE))
    return None if b"\n." in lines else lines


_BETWEEN = f"\r\n--{BOUNDARY}\r\n".encode()
_END = f"\r\n--{BOUNDARY}--\r\n".encode()


def body(
    text: str, html: str, placeholders: Mapping[str, str], *, written_text: Written, written_html: Written
) -> Body:
    """`placeholders`: field → the token that stands for it; `written_…` make a value fit for its part."""
    wanted = ((text, "plain", written_text), (html, "html", written_html))
    parts = [part(content, subtype, placeholders, written) for content, subtype, written in wanted if content]
    return Body(parts or [part("", "plain", {}, str)])


def part(content: str, subtype: str, placeholders: Mapping[str, str], written: Written) -> BodyPart:
    """A text, encoded around its holes."""
    names = {token: name for name, token in placeholders.items()}
    longest_first = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    # What stands between the tokens, and each token between it.
    split = re.split(f"({longest_first})", _with_crlf(content)) if names else [_with_crlf(content)]
    pieces, fields = split[::2], tuple(names[token] for token in split[1::2])
    if not pieces[-1].endswith("\r\n"):
        pieces[-1] += "\r\n"
    # Quoted-printable takes three octets for one above 127, base64 four for any three.
    whole = "".join(pieces).encode()
    if len(whole) - len(whole.translate(None, _ABOVE_ASCII)) <= len(whole) // 5:
        encoded = [_quoted(piece) for piece in pieces]
        # A piece that ends its line, or is empty, has no line to go on with.
        encoded[:-1] = [one + _SOFT_BREAK if one and not one.endswith(b"\n") else one for one in encoded[:-1]]
        return BodyPart(subtype, "quoted-printable", tuple(encoded), fields, written)
    octets = [piece.encode() for piece in pieces]
    if not fields:
        octets = [_lines_of_base64(octets[0])]
    return BodyPart(subtype, "base64", tuple(octets), fields, written)


def _quoted(text: str) -> bytes:
    # b2a_qp takes its own line ends from the first one it sees, so there has to be one.
    octets = binascii.b2a_qp(f"{_with_crlf(text)}\r\n".encode(), istext=True)[:-2]
    # It forgets how long a line is when it writes the space at its end.
    return _LATE_SPACE.sub(rb"=\r\n\1", octets)


def _with_crlf(text: str) -> str:
    return _LINE_END.sub("\r\n", _CONTROLS.sub("", text))


def _lines_of_base64(octets: bytes) -> bytes:
    return base64.encodebytes(octets).replace(b"\n", b"\r\n")
