"""The “relaxed” form of header fields and bodies (RFC 6376 §3.4.2, §3.4.4). Pure.

Whole blocks of octets are replaced at once, and only where there is something to replace: a letter costs
some microseconds.
"""

CRLF_OCTETS = b"\r\n"


def split_message(message: bytes) -> tuple[bytes, bytes]:
    """The header and the body, without the empty line between them."""
    head, _, body = message.partition(b"\r\n\r\n")
    return head, body


def relaxed_fields(head: bytes) -> list[tuple[bytes, bytes]]:
    """Name and value of every field of a header, in its order.

    Names in lower case, values unfolded, every run of white space one space, none around either.
    """
    lines = _with_single_spaces(head.replace(b"\r\n ", b" ").replace(b"\r\n\t", b" ")).split(CRLF_OCTETS)
    parts = (line.partition(b":") for line in lines if line)
    # Spaces only: to RFC 6376 §2.8 a form feed is no white space.
    return [(name.rstrip(b" ").lower(), value.strip(b" ")) for name, _, value in parts]


def relaxed_body(body: bytes) -> bytes:
    """No white space at line ends, else one space for each run of it; no empty lines at the end."""
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
    # Each round halves the runs.
    while b"  " in octets:
        octets = octets.replace(b"  ", b" ")
    return octets
