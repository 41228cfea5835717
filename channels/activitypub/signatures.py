"""HTTP signatures: draft-cavage-http-signatures-12, as Mastodon makes them, and RFC 9421."""

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import lru_cache
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)
from http_message_signatures import HTTPMessageSigner, HTTPMessageVerifier, MappingKeyResolver, algorithms
from http_message_signatures import InvalidSignature as InvalidMessageSignature
from http_sf import parse

from channels.activitypub.message import ACTIVITY_JSON
from common.formats.written_dates import mail_date

# Mastodon's for requests without an end, and its tolerance for clocks.
WINDOW = timedelta(hours=1)
KEY_BITS = 2_048
LARGEST_KEY_BITS = 8_192
LONGEST_HEADER = 4_000
ALGORITHMS = ("", "rsa-sha256", "hs2019", "ed25519")
COVERED = ("(request-target)", "host", "date")
_PARAMETER = re.compile(r'\s*([a-zA-Z]+)=(?:"([^"]*)"|(\d+))\s*')


class BadSignature(ValueError):
    """The message says what is wrong with the request."""


@dataclass(slots=True)
class SignedRequest:
    """`url` as its sender wrote it, names of headers in lower case."""

    method: str
    url: str
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def targets(self) -> tuple[str, ...]:
        """Return path and query, and the path alone, which some sign."""
        parts = urlsplit(self.url)
        path = parts.path or "/"
        return (f"{path}?{parts.query}", path) if parts.query else (path,)


def new_key() -> str:
    """Return a private key as PEM."""
    made = generate_private_key(public_exponent=65_537, key_size=KEY_BITS)
    return made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


@lru_cache(maxsize=4)
def private_key(pem: str) -> RSAPrivateKey:
    """Raises ValueError."""
    key = load_pem_private_key(pem.encode(), None)
    if not isinstance(key, RSAPrivateKey):
        raise ValueError("The key is no RSA key.")
    return key


@lru_cache(maxsize=4)
def public_pem(private: str) -> str:
    key = private_key(private).public_key()
    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def public_key(pem: str) -> RSAPublicKey | Ed25519PublicKey:
    """Raises BadSignature."""
    try:
        key = load_pem_public_key(pem.encode())
    except ValueError:
        raise BadSignature("The key can’t be read.") from None
    if isinstance(key, RSAPublicKey) and not KEY_BITS // 2 <= key.key_size <= LARGEST_KEY_BITS:
        raise BadSignature("The key has an unusual length.")
    if not isinstance(key, RSAPublicKey | Ed25519PublicKey):
        raise BadSignature("The key has an unknown algorithm.")
    return key


def digest_of(body: bytes) -> str:
    return base64.b64encode(sha256(body).digest()).decode()


def sign(request: SignedRequest, *, private: str, key_id: str, now: datetime) -> dict[str, str]:
    """Return the headers to send, as Mastodon signs."""
    host = urlsplit(request.url).netloc.rpartition("@")[2]
    headers = {"Host": host, "Date": format_datetime(now.astimezone(UTC), usegmt=True)}
    covered = list(COVERED)
    if request.method == "POST":
        headers |= {"Digest": f"SHA-256={digest_of(request.body)}", "Content-Type": ACTIVITY_JSON}
        covered += ["digest", "content-type"]
    request.headers = {name.lower(): value for name, value in headers.items()}
    base = _base(request, request.targets[0], covered, {})
    signature = private_key(private).sign(base, PKCS1v15(), SHA256())
    value = base64.b64encode(signature).decode()
    names = " ".join(covered)
    parts = f'keyId="{key_id}",algorithm="rsa-sha256",headers="{names}",signature="{value}"'
    return {**headers, "Signature": parts}


def sign_message(request: SignedRequest, *, private: str, key_id: str, now: datetime) -> dict[str, str]:
    """Return the headers to send, by RFC 9421."""
    keys = MappingKeyResolver(public_keys={}, private_keys={key_id: private.encode()})
    signer = HTTPMessageSigner(signature_algorithm=algorithms.RSA_V1_5_SHA256, key_resolver=keys)
    request.headers = {"Content-Type": ACTIVITY_JSON}
    signer.sign(
        request,
        key_id=key_id,
        created=now,
        label="sig1",
        include_alg=False,
        covered_component_ids=("@method", "@target-uri"),
        body=request.body,
    )
    return request.headers


def key_of(headers: Mapping[str, str]) -> str:
    """Return the id of the key. Raises BadSignature."""
    if "signature-input" in headers:
        key = _message_parameters(headers).get("keyid")
    else:
        key = _parameters(headers).get("keyId")
    if not isinstance(key, str) or not key.startswith(("https://", "http://")) or len(key) > LONGEST_HEADER:
        raise BadSignature("The signature names no key.")
    return key


def verify(request: SignedRequest, *, key: str, now: datetime) -> None:
    """Verify a POST with its key as PEM. Raises BadSignature."""
    public = public_key(key)
    if "signature-input" in request.headers:
        _verify_message(request, public, key, now)
        return
    check_digest(request)
    parameters = _parameters(request.headers)
    covered = parameters.get("headers", "date").lower().split()
    if parameters.get("algorithm", "").lower() not in ALGORITHMS:
        raise BadSignature("The signature has an unknown algorithm.")
    if not {"digest", "(request-target)", "host"} <= set(covered):
        raise BadSignature("The signature must cover (request-target), host and digest.")
    if not {"date", "(created)"} & set(covered):
        raise BadSignature("The signature must cover the date.")
    check_time(request.headers, now)
    if not any(_is_signed(request, target, covered, parameters, public) for target in request.targets):
        raise BadSignature("The signature is wrong.")


def _is_signed(
    request: SignedRequest,
    target: str,
    covered: list[str],
    parameters: Mapping[str, str],
    public: RSAPublicKey | Ed25519PublicKey,
) -> bool:
    try:
        signature = base64.b64decode(parameters.get("signature", ""), validate=True)
        base = _base(request, target, covered, parameters)
        if isinstance(public, Ed25519PublicKey):
            public.verify(signature, base)
        else:
            public.verify(signature, base, PKCS1v15(), SHA256())
    except (ValueError, InvalidSignature):
        return False
    return True


def check_digest(request: SignedRequest) -> None:
    """Check the draft's digest, which costs little. Raises BadSignature."""
    if "signature-input" in request.headers:
        return
    values = dict(part.strip().partition("=")[::2] for part in request.headers.get("digest", "").split(","))
    if {name.lower(): value for name, value in values.items()}.get("sha-256") != digest_of(request.body):
        raise BadSignature("The digest isn’t that of the body.")


def check_time(headers: Mapping[str, str], now: datetime) -> None:
    """Check the time that the signature names. Raises BadSignature."""
    expires: Any = None
    if "signature-input" in headers:
        parameters = _message_parameters(headers)
        created, expires = parameters.get("created"), parameters.get("expires")
    else:
        names = _parameters(headers)
        created = names.get("created") if "(created)" in names.get("headers", "") else None
        expires = names.get("expires")
        if created is None:
            date = mail_date(headers.get("date", ""))
            created = int(date.timestamp()) if date else 0
    try:
        moment = datetime.fromtimestamp(int(created or 0), UTC)
        until = datetime.fromtimestamp(int(expires), UTC) if expires else moment + WINDOW
    except (ValueError, OverflowError, OSError):
        raise BadSignature("The signature has no readable time.") from None
    if not moment - WINDOW <= now <= min(until + WINDOW, moment + 12 * WINDOW):
        raise BadSignature("The signature is too old, or from the future. Check the clocks.")


class _Verifier(HTTPMessageVerifier):
    """The time is checked by `check_time`, whose clock is an argument."""

    def validate_created_and_expires(self, sig_input: Any, max_age: timedelta | None = None) -> None:
        pass


def _verify_message(
    request: SignedRequest, public: RSAPublicKey | Ed25519PublicKey, pem: str, now: datetime
) -> None:
    check_time(request.headers, now)
    is_rsa = isinstance(public, RSAPublicKey)
    ours = algorithms.RSA_V1_5_SHA256 if is_rsa else algorithms.ED25519
    keys = MappingKeyResolver(public_keys={key_of(request.headers): pem.encode()}, private_keys={})
    if not request.body:
        raise BadSignature("The request has no body.")
    try:
        _Verifier(signature_algorithm=ours, key_resolver=keys).verify(
            request, max_age=None, require_components=("@method", "@target-uri"), body=request.body
        )
    except InvalidMessageSignature as error:
        raise BadSignature(f"The signature is wrong: {str(error)[:200]}") from None


def _message_parameters(headers: Mapping[str, str]) -> Mapping[str, Any]:
    """Return the parameters of the only signature. Raises BadSignature."""
    try:
        fields: Any = parse(headers["signature-input"][:LONGEST_HEADER].encode(), tltype="dictionary")
        ((_, parameters),) = fields.values()
    except ValueError:
        raise BadSignature("Signature-Input must have one signature.") from None
    return dict(parameters)


def _parameters(headers: Mapping[str, str]) -> dict[str, str]:
    """Raises BadSignature."""
    value = headers.get("signature", "")
    parts = [_PARAMETER.fullmatch(part) for part in value[:LONGEST_HEADER].split(",")]
    names = {match[1]: match[2] or match[3] or "" for match in parts if match}
    if not value or None in parts or len(names) != len(parts):
        raise BadSignature("The request isn’t signed.")
    return names


def _base(request: SignedRequest, target: str, covered: list[str], parameters: Mapping[str, str]) -> bytes:
    """Raises ValueError for a header that isn't there."""
    lines = []
    for name in covered:
        if name == "(request-target)":
            value: str | None = f"{request.method.lower()} {target}"
        elif name in ("(created)", "(expires)"):
            value = parameters.get(name.strip("()"))
        else:
            value = request.headers.get(name)
        if value is None:
            raise ValueError(name)
        lines.append(f"{name}: {value}")
    return "\n".join(lines).encode()
