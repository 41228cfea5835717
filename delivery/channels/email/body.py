"""Writes the parts of a message: text and html, encoded so that any server carries them whole. Pure.

A part is encoded once, with holes: each stands on a line of its own between soft line breaks, so that what
fills it is encoded by itself and the octets around it stay as they are.
"""

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

# All control characters but tab and line ends: no letter needs them, and some readers stop at a NUL.
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_LINE_END = re.compile("\r\n|\r|\n|\u2028|\u2029")
_ABOVE_ASCII = bytes(range(128, 256))
# RFC 2046 §5.1.1 needs a line that is in no part: quoted-printable writes "=" as "=3D", base64 has no "_".
BOUNDARY = "=_feedletter_part"
# RFC 2045 §6.7 (5): a line that ends so goes on with the next one.
_SOFT_BREAK = b"=\r\n"
# What quoted-printable leaves as it is, short enough for one line.
_AS_IT_IS = re.compile("[!-<>-~]([ -<>-~]{0,68}[!-<>-~])?")

Written = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Part:
    """One part: `pieces` are what stands between the holes, `fields` what fills them (one less)."""

    subtype: str
    encoding: str
    pieces: tuple[bytes, ...]
    fields: tuple[str, ...]
    written: Written

    def filled(self, values: Mapping[str, str]) -> list[bytes]:
        """The part's octets. A field without a value is empty."""
        texts = [self.written(values.get(name, "")) for name in self.fields]
        return self._quoted(texts) if self.encoding == "quoted-printable" else [self._base64(texts)]

    def _quoted(self, texts: list[str]) -> list[bytes]:
        octets = [self.pieces[0]]
        for text, piece in zip(texts, self.pieces[1:], strict=True):
            octets += ((text.encode() if _AS_IT_IS.fullmatch(text) else _quoted(text)), _SOFT_BREAK, piece)
        return octets

    def _base64(self, texts: list[str]) -> bytes:
        if not texts:
            return self.pieces[0]
        octets = [self.pieces[0]]
        for text, piece in zip(texts, self.pieces[1:], strict=True):
            octets += (text.encode(), piece)
        return _lines_of_base64(b"".join(octets))


@dataclass(frozen=True, slots=True)
class Body:
    """The Content fields, the empty line and the parts; html last, as the better one (RFC 2046 §5.1.4)."""

    parts: tuple[Part, ...]

    def filled(self, values: Mapping[str, str]) -> list[bytes]:
        """The octets of one recipient's message, from its Content fields on, in pieces."""
        if len(self.parts) == 1:
            return [_head(self.parts[0]), *self.parts[0].filled(values)]
        octets = [f'Content-Type: multipart/alternative; boundary="{BOUNDARY}"\r\n'.encode()]
        for part in self.parts:
            octets += (_BETWEEN, _head(part), *part.filled(values))
        return [*octets, _END]


_BETWEEN = f"\r\n--{BOUNDARY}\r\n".encode()
_END = f"\r\n--{BOUNDARY}--\r\n".encode()


def body(
    text: str, html: str, holes: Mapping[str, str], *, written_text: Written, written_html: Written
) -> Body:
    """`holes`: field → the token that stands for it; `written_…` make a value fit for its part."""
    wanted = ((text, "plain", written_text), (html, "html", written_html))
    parts = [part(content, subtype, holes, written) for content, subtype, written in wanted if content]
    return Body(tuple(parts) or (part("", "plain", {}, str),))


def part(content: str, subtype: str, holes: Mapping[str, str], written: Written) -> Part:
    """A text, encoded around its holes."""
    pieces, fields = _split(_LINE_END.sub("\r\n", _CONTROLS.sub("", content)), holes)
    if not pieces[-1].endswith("\r\n"):
        pieces[-1] += "\r\n"
    if _is_mostly_ascii(pieces):
        encoded = [_quoted(piece) for piece in pieces]
        # (A piece that ends its line, or is empty, has no line to go on with.)
        encoded[:-1] = [one + _SOFT_BREAK if one and not one.endswith(b"\n") else one for one in encoded[:-1]]
        return Part(subtype, "quoted-printable", tuple(encoded), fields, written)
    octets = [piece.encode() for piece in pieces]
    if not fields:
        octets = [_lines_of_base64(octets[0])]
    return Part(subtype, "base64", tuple(octets), fields, written)


def _head(part: Part) -> bytes:
    return (
        f"Content-Type: text/{part.subtype}; charset=utf-8\r\n"
        f"Content-Transfer-Encoding: {part.encoding}\r\n\r\n"
    ).encode()


def _split(content: str, holes: Mapping[str, str]) -> tuple[list[str], tuple[str, ...]]:
    """What stands between the tokens, and the fields of the tokens between it."""
    if not holes:
        return [content], ()
    fields = {token: name for name, token in holes.items()}
    longest_first = sorted(fields, key=len, reverse=True)
    split = re.split(f"({'|'.join(map(re.escape, longest_first))})", content)
    return split[::2], tuple(fields[token] for token in split[1::2])


def _is_mostly_ascii(pieces: list[str]) -> bool:
    # Quoted-printable takes three octets for one above 127, base64 four for any three.
    octets = "".join(pieces).encode()
    return len(octets) - len(octets.translate(None, _ABOVE_ASCII)) <= len(octets) // 5


def _quoted(text: str) -> bytes:
    # b2a_qp takes its own line ends from the first one it sees, so there has to be one.
    return binascii.b2a_qp(f"{text}\r\n".encode(), istext=True)[:-2]


def _lines_of_base64(octets: bytes) -> bytes:
    return base64.encodebytes(octets).replace(b"\n", b"\r\n")
