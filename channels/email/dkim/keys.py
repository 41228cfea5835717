import base64
from dataclasses import dataclass, field
from hashlib import sha256

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from common.refused import Refused

# RFC 1035 §3.3: a character-string has at most 255 octets; a TXT record may have several.
LONGEST_STRING = 255
RSA, ED25519 = "rsa", "ed25519"
ALGORITHMS = (RSA, ED25519)
# RFC 8301 §3.2: signers should use at least 2048 bits; verifiers must support up to 4096.
RSA_BITS = 2048
MOST_RSA_BITS = 4096
MAX_PEM = 16_384
_PADDING, _SHA256 = PKCS1v15(), SHA256()


@dataclass(frozen=True, slots=True)
class DkimRecord:
    """`name` has no final dot."""

    name: str
    value: str

    @property
    def strings(self) -> tuple[str, ...]:
        steps = range(0, len(self.value), LONGEST_STRING)
        return tuple(self.value[at : at + LONGEST_STRING] for at in steps)

    @property
    def zone_line(self) -> str:
        quoted = "\n    ".join(f'"{string}"' for string in self.strings)
        return f"{self.name}. IN TXT (\n    {quoted} )"


def record_of(*, domain: str, selector: str, algorithm: str, public: str) -> DkimRecord:
    return DkimRecord(f"{selector}._domainkey.{domain}", f"v=DKIM1; k={algorithm}; p={public}")


Private = RSAPrivateKey | Ed25519PrivateKey


class UnusableKey(Refused):
    """Not a usable signing key. The message says why."""


@dataclass(frozen=True, slots=True)
class SigningKey:
    """Thread-safe; OpenSSL releases the GIL."""

    domain: str
    selector: str
    private: Private = field(repr=False)

    @property
    def algorithm(self) -> str:
        return algorithm_of(self.private)

    def signature(self, data: bytes) -> bytes:
        """Return b=. RFC 8463 §3: Ed25519 signs the hash of the data, RSA the data."""
        if isinstance(self.private, RSAPrivateKey):
            return self.private.sign(data, _PADDING, _SHA256)
        return self.private.sign(sha256(data).digest())


def algorithm_of(private: Private) -> str:
    return RSA if isinstance(private, RSAPrivateKey) else ED25519


def generate(algorithm: str) -> Private:
    """RSA takes about 0.1 s. Raises ValueError for an unknown algorithm."""
    if algorithm == RSA:
        return generate_private_key(public_exponent=65537, key_size=RSA_BITS)
    if algorithm == ED25519:
        return Ed25519PrivateKey.generate()
    raise ValueError(f"There is no algorithm “{algorithm}”. Use rsa or ed25519.")


def to_pem(private: Private) -> str:
    return private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def from_pem(pem: str) -> Private:
    """Load a key without the check of its primes (35 ms)."""
    private = load_pem_private_key(pem.encode(), None, unsafe_skip_rsa_key_validation=True)
    return _fit(private)


def read_pem(pem: bytes) -> Private:
    if len(pem) > MAX_PEM:
        raise UnusableKey(f"The file is too large for a key: it has {len(pem):,} bytes.")
    try:
        return _fit(load_pem_private_key(pem, None))
    except TypeError:
        raise UnusableKey("The key is protected by a password. Use a key without one.") from None
    except UnusableKey:
        raise
    except (ValueError, UnsupportedAlgorithm):
        # `from None`: no part of a private key may get into a traceback.
        raise UnusableKey(
            "This isn’t a private key in PEM format, which starts with “-----BEGIN PRIVATE KEY-----” "
            "or “-----BEGIN RSA PRIVATE KEY-----”."
        ) from None


def public_value(private: Private) -> str:
    """Return p=: SubjectPublicKeyInfo for RSA, 32 octets for Ed25519 (RFC 8463 §4.2)."""
    if isinstance(private, RSAPrivateKey):
        octets = private.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    else:
        octets = private.public_key().public_bytes_raw()
    return base64.b64encode(octets).decode()


def _fit(private: object) -> Private:
    if isinstance(private, Ed25519PrivateKey):
        return private
    if not isinstance(private, RSAPrivateKey):
        raise UnusableKey("The key is neither an RSA nor an Ed25519 key. DKIM supports only these two.")
    if not RSA_BITS <= private.key_size <= MOST_RSA_BITS:
        raise UnusableKey(
            f"The RSA key has {private.key_size} bits; it needs {RSA_BITS} to {MOST_RSA_BITS} (RFC 8301)."
        )
    return private
