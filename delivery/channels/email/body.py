"""Writes the parts of a message: text and html, encoded so that any server carries them whole. Pure."""

import base64
import binascii
import re

# All control characters but tab and line ends: no letter needs them, and some readers stop at a NUL.
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_LINE_END = re.compile("\r\n|\r|\n|\u2028|\u2029")
# RFC 2046 §5.1.1 needs a line that is in no part: quoted-printable writes "=" as "=3D", base64 has no "_".
BOUNDARY = "=_feedletter_part"


def body(text: str, html: str) -> bytes:
    """The Content fields, the empty line and the parts; html last, as the better one (RFC 2046 §5.1.4)."""
    parts = [_part(content, subtype) for content, subtype in ((text, "plain"), (html, "html")) if content]
    if len(parts) < 2:
        return parts[0] if parts else _part("", "plain")
    head = f'Content-Type: multipart/alternative; boundary="{BOUNDARY}"\r\n'
    between = f"\r\n--{BOUNDARY}\r\n".encode()
    return head.encode() + b"".join(between + part for part in parts) + f"\r\n--{BOUNDARY}--\r\n".encode()


def _part(content: str, subtype: str) -> bytes:
    encoding, octets = _encoded(_LINE_END.sub("\r\n", _CONTROLS.sub("", content)))
    head = f"Content-Type: text/{subtype}; charset=utf-8\r\nContent-Transfer-Encoding: {encoding}\r\n\r\n"
    return head.encode() + octets


def _encoded(content: str) -> tuple[str, bytes]:
    # b2a_qp takes its own line ends from the first one it sees, so there has to be one.
    octets = (content if content.endswith("\r\n") else content + "\r\n").encode()
    # Quoted-printable takes three octets for one above 127, base64 four for any three.
    if len(octets) - len(octets.translate(None, _ABOVE_ASCII)) > len(octets) // 5:
        return "base64", base64.encodebytes(octets).replace(b"\n", b"\r\n")
    return "quoted-printable", binascii.b2a_qp(octets, istext=True)


_ABOVE_ASCII = bytes(range(128, 256))
