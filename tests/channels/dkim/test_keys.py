"""Keys and their records."""

import base64

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_der_public_key,
)

from channels.email.dkim.keys import (
    UnusableKey,
    algorithm_of,
    from_pem,
    generate,
    public_value,
    read_pem,
    to_pem,
)
from tests.channels.dkim.verifying import ED25519_KEY, RSA_KEY, record


@pytest.mark.parametrize("key", [RSA_KEY, ED25519_KEY], ids=lambda key: str(key.algorithm))
def test_a_key_is_read_back(key: object) -> None:
    private = key.private  # type: ignore[attr-defined]
    for read in (from_pem(to_pem(private)), read_pem(to_pem(private).encode())):
        assert public_value(read) == public_value(private)


def test_the_old_form_of_rsa_keys_is_read_too() -> None:
    assert isinstance(RSA_KEY.private, rsa.RSAPrivateKey)
    pem = RSA_KEY.private.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    assert algorithm_of(read_pem(pem)) == "rsa"


def pem_of(private: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey, password: bytes = b"") -> bytes:
    protection = BestAvailableEncryption(password) if password else NoEncryption()
    return private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, protection)


def test_what_is_no_usable_key_is_refused_with_the_reason() -> None:
    small = pem_of(rsa.generate_private_key(public_exponent=65537, key_size=1024))  # noqa: S505
    curve = ec.generate_private_key(ec.SECP256R1())
    for pem, why in (
        (small, "1024 bits"),
        (pem_of(curve), "neither an RSA nor"),
        (pem_of(curve, b"password"), "password"),
        (b"-----BEGIN PRIVATE KEY-----\nabcd\n-----END PRIVATE KEY-----\n", "isn’t a private key"),
        (b"", "isn’t a private key"),
        (b"\xff" * 20_000, "too large"),
    ):
        with pytest.raises(UnusableKey, match=why):
            read_pem(pem)
    with pytest.raises(ValueError, match="no algorithm “dsa”"):
        generate("dsa")


def test_the_record_of_an_rsa_key_fits_a_zone_file() -> None:
    made = record(RSA_KEY)
    assert made.name == "feedletter._domainkey.example.org"
    assert made.value.startswith("v=DKIM1; k=rsa; p=MII")
    assert [len(string) for string in made.strings] == [255, len(made.value) - 255]
    assert "".join(made.zone_line.split('"')[1::2]) == made.value
    assert made.zone_line.startswith("feedletter._domainkey.example.org. IN TXT (")
    octets = base64.b64decode(made.value.partition("p=")[2])
    assert load_der_public_key(octets) == RSA_KEY.private.public_key()


def test_the_record_of_an_ed25519_key_holds_its_32_octets() -> None:
    made = record(ED25519_KEY)
    assert made.value.startswith("v=DKIM1; k=ed25519; p=")
    assert len(base64.b64decode(made.value.partition("p=")[2])) == 32
    assert made.strings == (made.value,)
