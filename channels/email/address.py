import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from email_validator import SPECIAL_USE_DOMAIN_NAMES, EmailNotValidError, validate_email

from common.ports.channels import InvalidDestination
from common.text import one_line

MAX_ADDRESS_TEXT = 512
MAX_NAME = 100

# Cc, Cs, and the two line breaks of Unicode, which no header may contain.
CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_NAMED = re.compile(r"(?P<name>[^<>]*)<(?P<address>[^<>]*)>")
# Unchanged by the library, which takes a hundred times as long. RFC 5321 §4.5.3.1 allows 64 characters before
# the @; with 120 after it, the whole is below the limit.
_PLAIN = re.compile(
    r"(?=.{1,64}@.{1,120}\Z)(?P<local>[A-Za-z0-9_+-]+(?:\.[A-Za-z0-9_+-]+)*)"
    r"@(?P<domain>(?!-|.*(?:--|-\.|\.-))(?:[A-Za-z0-9-]{1,63}\.)+"
    rf"(?!(?i:{'|'.join(SPECIAL_USE_DOMAIN_NAMES)})\Z)[A-Za-z]{{2,63}})"
)
# Such as letters@localhost, letters@127.0.0.1.
_LOCAL_SENDER = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9][A-Za-z0-9.-]{0,186}")


@dataclass(frozen=True, slots=True)
class EmailAddress:
    """`email` is for SMTP (domain in ASCII), `label` for people, `core` for comparison."""

    email: str
    label: str
    core: str
    name: str = ""

    @property
    def domain(self) -> str:
        return self.email.rpartition("@")[2]


def parse_address(text: str) -> EmailAddress:
    """Accept exactly one. Raises InvalidDestination."""
    if plain := _PLAIN.fullmatch(text):
        return _plain_address(plain)
    name, address = _split(text)
    if plain := _PLAIN.fullmatch(address):
        return _plain_address(plain, name)
    try:
        # `.test` reaches nobody; other reserved names (RFC 6761) are refused.
        valid = validate_email(address, strict=True, check_deliverability=False, test_environment=True)
    except EmailNotValidError as error:
        raise InvalidDestination(f"“{_shown(address)}” isn’t an email address: {error}") from error
    domain = valid.ascii_domain.lower()
    # Not casefold(): ß and ss are different letters in a mailbox.
    local = unicodedata.normalize("NFC", valid.local_part.lower())
    return EmailAddress(
        email=f"{valid.local_part}@{domain}",
        label=f"{valid.local_part}@{valid.domain.lower()}",
        core=f"{local}@{domain}",
        name=name,
    )


def _plain_address(match: "re.Match[str]", name: str = "") -> EmailAddress:
    email = f"{match['local']}@{match['domain'].lower()}"
    return EmailAddress(email, email, email.lower(), name)


@lru_cache(maxsize=256)
def parse_sender(text: str) -> EmailAddress:
    """It may be local. Raises InvalidDestination."""
    try:
        return parse_address(text)
    except InvalidDestination:
        name, address = _split(text)
        if not _LOCAL_SENDER.fullmatch(address):
            raise
        return EmailAddress(email=address, label=address, core=address.lower(), name=name)


def clean_name(text: str) -> str:
    name = one_line(CONTROLS.sub(" ", text))
    if len(name) >= 2 and name[0] == name[-1] == '"':
        name = re.sub(r"\\(.)", r"\1", name[1:-1]).strip()
    return unicodedata.normalize("NFC", name)


def _split(text: str) -> tuple[str, str]:
    text = text.strip()
    if not text:
        raise InvalidDestination("The email address is missing.")
    if len(text) > MAX_ADDRESS_TEXT:
        raise InvalidDestination(f"The email address is too long: at most {MAX_ADDRESS_TEXT} characters.")
    if CONTROLS.search(text):
        raise InvalidDestination("The email address contains a line break or another control character.")
    if text.count("@") > 1 and re.search(r"@[^\"]*[,;]", text):
        raise InvalidDestination(f"“{_shown(text)}” is more than one email address. Enter only one.")
    if "<" not in text and ">" not in text:
        return "", text
    match = _NAMED.fullmatch(text)
    if not match:
        raise InvalidDestination(f"“{_shown(text)}” isn’t an email address. Use Name <name@example.org>.")
    return checked_name(match["name"]), match["address"].strip()


def checked_name(text: str) -> str:
    if not text:
        return ""
    if CONTROLS.search(text.strip()):
        raise InvalidDestination("The name contains a line break or another control character.")
    name = clean_name(text)
    if len(name) > MAX_NAME:
        raise InvalidDestination(f"The name is too long: at most {MAX_NAME} characters.")
    return name


def _shown(text: str) -> str:
    return text if len(text) <= 80 else text[:79] + "…"
