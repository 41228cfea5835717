"""DKIM-Signature fields (RFC 6376 §3.5, §3.7). Pure."""

import base64
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import lru_cache
from hashlib import sha256

from channels.email.dkim.keys import SigningKey

CRLF_OCTETS = b"\r\n"
# Visible or effective fields. Each is listed once more than it occurs, so that nobody can add another one in
# transit (RFC 6376 §8.15).
ONLY_OURS = (
    *("From", "To", "Cc", "Subject", "Date", "Message-ID", "Reply-To"),
    *("MIME-Version", "Content-Type", "Content-Transfer-Encoding"),
)
# Only if present: a later mail server may add one, such as List-Unsubscribe.
ONLY_OURS_IF_THERE = (
    *("List-Id", "List-Unsubscribe", "List-Unsubscribe-Post"),
    *("List-Archive", "List-Help", "List-Owner", "List-Post"),
)
IF_THERE = (
    *("Sender", "In-Reply-To", "References", "Content-Language", "Auto-Submitted", "Feedback-ID"),
    "List-Subscribe",
)
_NAMES = {name.lower().encode(): name for name in (*ONLY_OURS, *ONLY_OURS_IF_THERE, *IF_THERE)}
_MARGIN = 78
_FOLD = "\r\n "


def split_message(message: bytes) -> tuple[bytes, bytes]:
    head, _, body = message.partition(b"\r\n\r\n")
    return head, body


def relaxed_fields(head: bytes) -> list[tuple[bytes, bytes]]:
    """Return lower case names, and values unfolded with single spaces."""
    lines = _with_single_spaces(head.replace(b"\r\n ", b" ").replace(b"\r\n\t", b" ")).split(CRLF_OCTETS)
    parts = (line.partition(b":") for line in lines if line)
    # Spaces only: a form feed is not white space in RFC 6376 §2.8.
    return [(name.rstrip(b" ").lower(), value.strip(b" ")) for name, _, value in parts]


def relaxed_body(body: bytes) -> bytes:
    if not body:
        return b""
    body = _with_single_spaces(body if body.endswith(CRLF_OCTETS) else body + CRLF_OCTETS)
    if b" \r\n" in body:
        body = body.replace(b" \r\n", CRLF_OCTETS)
    end = len(body)
    while body.endswith(b"\r\n\r\n", 0, end):
        end -= 2
    return b"" if body[:end] == CRLF_OCTETS else body[:end]


def _with_single_spaces(octets: bytes) -> bytes:
    if b"\t" in octets:
        octets = octets.replace(b"\t", b" ")
    while b"  " in octets:
        octets = octets.replace(b"  ", b" ")
    return octets


def sign(message: bytes, keys: Sequence[SigningKey], now: datetime) -> bytes:
    """Return one DKIM-Signature field per key, to prepend; `now` is aware.

    The message has CRLF line ends and no doubled dots. Raises ValueError without a From.
    """
    if not keys:
        return b""
    head, body = split_message(message)
    lines: dict[bytes, bytes] = {}
    counts: dict[bytes, int] = {}
    for name, value in relaxed_fields(head):
        if name in _NAMES:
            # §5.4.2: the last of equal fields is signed first.
            lines[name] = name + b":" + value + b"\r\n" + lines.get(name, b"")
            counts[name] = counts.get(name, 0) + 1
    if b"from" not in lines:
        # RFC 6376 §5.4: the From field must be signed.
        raise ValueError("The message has no From header, so it can’t be signed.")
    names = _folded_names(tuple(counts.items()))
    signed = b"".join([lines[name] for name in _NAMES if name in lines])
    digest = base64.b64encode(sha256(relaxed_body(body)).digest()).decode()
    moment = int(now.timestamp())
    signatures = []
    for key in keys:
        # FWS is allowed between tags, after the colons of h= and within b= (RFC 6376 §3.2, §3.5).
        beginning = _beginning(key.domain, key.selector, key.algorithm)
        text = f"{beginning} t={moment};{_FOLD}{names}{_FOLD}bh={digest};{_FOLD}b="
        unsigned = "dkim-signature:" + text.replace(_FOLD, " ")
        encoded = base64.b64encode(key.signature(signed + unsigned.encode())).decode()
        folded = _FOLD.join(encoded[at : at + 72] for at in range(0, len(encoded), 72))
        signatures.append(f"DKIM-Signature: {text}{folded}\r\n".encode())
    return b"".join(signatures)


@lru_cache(maxsize=256)
def _folded_names(there: tuple[tuple[bytes, int], ...]) -> str:
    counts = dict(there)
    said: list[str] = []
    for key, name in _NAMES.items():
        count = counts.get(key, 0)
        again = name in ONLY_OURS or (count and name in ONLY_OURS_IF_THERE)
        said += [name] * (count + bool(again))
    return "h=" + _folded([f"{name}:" for name in said[:-1]] + [f"{said[-1]};"], used=len("h="))


@lru_cache(maxsize=1024)
def _beginning(domain: str, selector: str, algorithm: str) -> str:
    place = _folded([f"d={domain};", f" s={selector};"], used=len(" t=9999999999;"))
    return f"v=1; a={algorithm}-sha256; c=relaxed/relaxed;{_FOLD}{place}"


def _folded(pieces: Iterable[str], used: int) -> str:
    """Fold into lines of _MARGIN characters; `used` are reserved on each."""
    lines = [""]
    for piece in pieces:
        # The fold's own space counts, and no line may be empty: RFC 5322 §3.2.2.
        if lines[-1] and len(lines[-1]) + len(piece) + 1 + used > _MARGIN:
            lines.append("")
        lines[-1] += piece if lines[-1] else piece.lstrip(" ")
    return _FOLD.join(lines)
