"""Text and html parts, encoded so that any server transmits them unchanged. Pure.

Placeholders are lines between soft line breaks, so a value can be encoded without changing the rest.
"""

import base64
import binascii
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

# All control characters but tab and line ends; some readers stop at a NUL.
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_LINE_END = re.compile("\r\n|\r|\n|\u2028|\u2029")
_LATE_SPACE = re.compile(rb"(?<=[^\r\n]{73})(=20|=09)(?=\r\n|\Z)")
_ABOVE_ASCII = bytes(range(128, 256))
# RFC 2046 §5.1.1: the boundary must not occur in a part. Quoted-printable writes "=" as "=3D", base64 has no
# "_".
BOUNDARY = "=_feedletter_part"
# RFC 2045 §6.7 (5): the next line continues this one.
_SOFT_BREAK = b"=\r\n"
# Identical in html, text and quoted-printable. Nearly all values match.
_REST = "[A-Za-z0-9:/?#@_~+%;()!*,.-]"
_PLAIN = re.compile(f"[A-Za-z0-9:/?#@_~+%;(!*,-]{_REST}*(?: {_REST}+)*")
_LINE = 72

Written = Callable[[str], str]
_BETWEEN = f"\r\n--{BOUNDARY}\r\n".encode()
_END = f"\r\n--{BOUNDARY}--\r\n".encode()


@dataclass(frozen=True, slots=True)
class BodyPart:
    """Has n + 1 `pieces`, with the n `fields` between them."""

    subtype: str
    encoding: str
    pieces: tuple[bytes, ...]
    fields: tuple[str, ...]
    written: Written


class Body:
    """The preferred part, html, is last (RFC 2046 §5.1.4)."""

    def __init__(self, parts: Sequence[BodyPart]) -> None:
        self.parts = tuple(parts)
        self._octets: list[bytes] = []
        # Index in `_octets`, field, escape function.
        self._placeholders: list[tuple[int, str, Written]] = []
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
        # RFC 5321 §4.5.2: leading dots are doubled. A placeholder is on its own line.
        self._has_dots = b"\n." in b"\n".join(self._octets)

    def filled(self, values: Mapping[str, str]) -> tuple[list[bytes], bool]:
        """Return one recipient's octets, and whether a line may begin with a dot."""
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
    """Return None if it must be encoded."""
    if not value:
        return b""
    if not _PLAIN.fullmatch(value):
        return None
    octets = value.encode("ascii")
    if len(octets) <= _LINE:
        return octets
    lines = _SOFT_BREAK.join(octets[at : at + _LINE] for at in range(0, len(octets), _LINE))
    return None if b"\n." in lines else lines


def body(
    text: str, html: str, placeholders: Mapping[str, str], *, written_text: Written, written_html: Written
) -> Body:
    """`placeholders`: field → token; `written_…` escape a value."""
    wanted = ((text, "plain", written_text), (html, "html", written_html))
    parts = [part(content, subtype, placeholders, written) for content, subtype, written in wanted if content]
    return Body(parts or [part("", "plain", {}, str)])


def part(content: str, subtype: str, placeholders: Mapping[str, str], written: Written) -> BodyPart:
    names = {token: name for name, token in placeholders.items()}
    longest_first = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    split = re.split(f"({longest_first})", _with_crlf(content)) if names else [_with_crlf(content)]
    pieces, fields = split[::2], tuple(names[token] for token in split[1::2])
    if not pieces[-1].endswith("\r\n"):
        pieces[-1] += "\r\n"
    # Quoted-printable takes three octets for one above 127, base64 four for any three.
    whole = "".join(pieces).encode()
    if len(whole) - len(whole.translate(None, _ABOVE_ASCII)) <= len(whole) // 5:
        encoded = [_quoted(piece) for piece in pieces]
        # An empty piece, or one with a line end, has no line to continue.
        encoded[:-1] = [one + _SOFT_BREAK if one and not one.endswith(b"\n") else one for one in encoded[:-1]]
        return BodyPart(subtype, "quoted-printable", tuple(encoded), fields, written)
    octets = [piece.encode() for piece in pieces]
    if not fields:
        octets = [_lines_of_base64(octets[0])]
    return BodyPart(subtype, "base64", tuple(octets), fields, written)


def _quoted(text: str) -> bytes:
    # b2a_qp copies the first line end that it sees.
    octets = binascii.b2a_qp(f"{_with_crlf(text)}\r\n".encode(), istext=True)[:-2]
    # b2a_qp ignores the length of a line with a space at its end.
    return _LATE_SPACE.sub(rb"=\r\n\1", octets)


def _with_crlf(text: str) -> str:
    return _LINE_END.sub("\r\n", _CONTROLS.sub("", text))


def _lines_of_base64(octets: bytes) -> bytes:
    return base64.encodebytes(octets).replace(b"\n", b"\r\n")
