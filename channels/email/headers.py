"""ASCII fields, folded, with no way to inject fields. Pure."""

import base64
import re
from urllib.parse import quote

from django.conf import settings

from channels.email.address import CONTROLS, EmailAddress, clean_name
from channels.rules.verp import Token, address
from common import text as common_text
from common.signing import is_stamp, stamp

RETURN_PATH_PURPOSE = "bounce"
CRLF = "\r\n"
MAX_FIELD_TEXT = 300
_LINE = 76
_LONGEST_LINK = 950
# RFC 2047 §2: a line with an encoded word has at most 76 characters. 39 octets make 52 of base64, 12 are
# around them, and the first has the field's name before it.
_WORD_OCTETS = 39
_PLAIN = 60
_PLAIN_WORD = re.compile(f"[!-~]{{1,{_PLAIN}}}")
# RFC 5322 §3.2.3 atext, without the characters of encoded words.
_ATOMS = re.compile(r"[A-Za-z0-9!#$%&'*+/^_`{|}~-]+( [A-Za-z0-9!#$%&'*+/^_`{|}~-]+)*")
_PLAIN_LINK = re.compile(r"[A-Za-z0-9:/?#@=&.%+_~-]{1,900}")
_IN_ADDRESS = re.compile("[^\\s<>\x00-\x1f\x7f-\x9f]+@[A-Za-z0-9.-]+")


def return_path(delivery_id: int) -> str:
    """Return "" without BOUNCE_DOMAIN."""
    domain = settings.BOUNCE_DOMAIN
    if not domain:
        return ""
    return address(Token(delivery_id, stamp(RETURN_PATH_PURPOSE, f"{delivery_id:x}")), domain)


def is_ours(token: Token) -> bool:
    """Check that we made it: its user has seen the letter or its transport."""
    return is_stamp(RETURN_PATH_PURPOSE, token.text, token.stamp)


def one_line(text: str, limit: int = MAX_FIELD_TEXT) -> str:
    line = common_text.one_line(CONTROLS.sub(" ", text[: 8 * limit]))
    return common_text.shortened(line, limit)


def text_field(name: str, text: str) -> str:
    line = one_line(text)
    if not line:
        return f"{name}: {CRLF}"
    first, *words = line.split(" ")
    if "=?" in line or not all(_PLAIN_WORD.fullmatch(word) for word in (first, *words)):
        return f"{name}: {_encoded(line)}{CRLF}"
    folded, used = [first], len(f"{name}: {first}")
    for word in words:
        fits = used + 1 + len(word) <= _LINE
        folded.append(f" {word}" if fits else f"{CRLF} {word}")
        used = used + 1 + len(word) if fits else 1 + len(word)
    return f"{name}: {''.join(folded)}{CRLF}"


def address_field(name: str, address: EmailAddress) -> str:
    """Raises ValueError for an impossible address."""
    mailbox = checked(address.email)
    display = phrase(address.name)
    return named_field(name, display, f"<{mailbox}>") if display else f"{name}: {mailbox}{CRLF}"


def to_field(address: str, name: str) -> str:
    """Most addresses need no quoting or folding."""
    if not name:
        return f"To: {address}{CRLF}"
    if _ATOMS.fullmatch(name) and len(name) + len(address) <= _PLAIN:
        return f"To: {name} <{address}>{CRLF}"
    return address_field("To", EmailAddress(address, address, address, name))


def named_field(name: str, display: str, rest: str) -> str:
    line = f"{name}: {display}"
    fits = CRLF not in line and len(line) + 1 + len(rest) <= _LINE
    return f"{line} {rest}{CRLF}" if fits else f"{line}{CRLF} {rest}{CRLF}"


def phrase(text: str) -> str:
    line = one_line(clean_name(text), 100)
    if len(line) <= _PLAIN and _ATOMS.fullmatch(line):
        return line
    # Readers decode "=?" even inside quotes, despite RFC 2047 §5.
    if len(line) <= _PLAIN and line.isascii() and "=?" not in line:
        return '"' + re.sub(r'(["\\])', r"\\\1", line) + '"' if line else ""
    return _encoded(line)


def url_field(name: str, *urls: str) -> str:
    """Format links (RFC 2369); omit those too long for a line (RFC 5322 §2.1.1)."""
    links = [
        link
        if _PLAIN_LINK.fullmatch(link)
        else quote(one_line(link, _LONGEST_LINK), safe=":/?#[]@!$&()*+;=%~")
        for link in urls
        if link
    ]
    shown = f",{CRLF} ".join(f"<{link}>" for link in links if len(link) <= _LONGEST_LINK)
    return f"{name}: {shown}{CRLF}" if shown else ""


def checked(address: str) -> str:
    """Raise ValueError if the address could break out of `<…>` or its line."""
    if not _IN_ADDRESS.fullmatch(address):
        raise ValueError("The address contains characters that an email address can’t have.")
    return address


def _encoded(line: str) -> str:
    chunks = [b""]
    for character in line:
        # §5: a character may not be split between two words.
        octets = character.encode()
        if len(chunks[-1]) + len(octets) > _WORD_OCTETS:
            chunks.append(b"")
        chunks[-1] += octets
    return f"{CRLF} ".join(f"=?utf-8?b?{base64.b64encode(chunk).decode('ascii')}?=" for chunk in chunks)
