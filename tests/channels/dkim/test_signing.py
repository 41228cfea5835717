"""Signatures, verified by an independent implementation.

Relaxed canonicalization, compared to dkimpy's.
Keys and their records.
"""

import base64
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_der_public_key,
)
from dkim.canonicalization import Relaxed
from hypothesis import given, settings
from hypothesis import strategies as st

from channels.email.dkim.keys import (
    SigningKey,
    UnusableKey,
    algorithm_of,
    from_pem,
    generate,
    public_value,
    read_pem,
    to_pem,
)
from channels.email.dkim.signing import relaxed_body, relaxed_fields, sign, split_message
from tests.channels.dkim.samples import NOW, composed, odd
from tests.channels.dkim.verifying import ED25519_KEY, KEYS, RSA_KEY, record, verified
from tests.channels.email_letters import letter, message
from tests.examples import NIGHTLY, examples

PIECES = st.sampled_from(
    [b" ", b"  ", b"\t", b"\r\n", b"a", b".", b"\xc3\xa9", b"=", b"\x0c", b" \r\n", b"\r", b"\n"]
)
bodies = st.lists(PIECES, max_size=60).map(b"".join)
values = st.lists(st.sampled_from([b" ", b"\t", b"\r\n ", b"\r\n\t", b"a", b":", b"\xc3\xa9"]), max_size=30)
RECORDS = [record(key) for key in KEYS]
RSA_RECORD = RECORDS[:1]
MESSAGE = message(text="A post.\n.\n\nThe end.", reply_to="answers@example.org").dated(NOW)


def signed(message: bytes, *keys: SigningKey) -> bytes:
    return sign(message, keys or KEYS, NOW) + message


def tags(message: bytes) -> dict[str, str]:
    """Return the tags of the first signature, without white space."""
    field = re.split(rb"\r\n(?![ \t])", message)[0].decode()
    pairs = (tag.partition("=") for tag in field.partition(":")[2].split(";"))
    return {name.strip(): "".join(value.split()) for name, _, value in pairs}


@NIGHTLY
def test_of_500_letters_of_all_sorts_both_signatures_verify() -> None:
    messages = [*composed(400), *odd(100)]
    bad = [message for message in messages if verified(signed(message), RECORDS) != [True, True]]
    assert len(messages) == 500
    assert bad == []


def test_every_letter_is_left_as_it_is() -> None:
    for each in composed(20):
        assert signed(each).endswith(each)


def test_a_letter_verifies_with_nothing_but_its_own_record() -> None:
    message = signed(MESSAGE, RSA_KEY)
    other = record(SigningKey("example.org", "feedletter", generate("rsa")))
    assert verified(message, RSA_RECORD) == [True]
    assert verified(message, []) == [False]
    assert verified(message, [other]) == [False]


def whole() -> bytes:
    """Return a letter with every field that is signed if present."""
    extra = b"".join(
        b"%b: <x@example.org>\r\n" % name for name in (b"List-Help", b"List-Owner", b"References")
    )
    return extra + MESSAGE


def altered() -> Iterator[tuple[str, bytes]]:
    """Yield the signed letter with one change: a field edited, removed or doubled; the body anywhere."""
    done = signed(whole(), RSA_KEY)
    signature = done.removesuffix(whole())
    head, _, body = whole().partition(b"\r\n\r\n")
    fields = [field + b"\r\n" for field in re.split(rb"\r\n(?![ \t])", head)]
    named = tags(done)["h"].lower()
    names = set(named.split(":"))
    for at, field in enumerate(fields):
        name = field.partition(b":")[0].decode()
        if name.lower() not in names:
            continue
        before, after = b"".join(fields[:at]), b"".join(fields[at + 1 :])
        edited = field.removesuffix(b"\r\n") + b"x\r\n"
        for what, instead in (("edited", edited), ("removed", b"")):
            yield f"{name} {what}", signature + before + instead + after + b"\r\n" + body
        if f":{name}:{name}".lower() in ":" + named:
            yield f"{name} doubled", signature + field + before + field + after + b"\r\n" + body
    for at in range(0, len(body), 37):
        if not body[at : at + 1].isspace():
            yield f"body at {at}", signature + head + b"\r\n\r\n" + body[:at] + b"~" + body[at + 1 :]
    yield "body longer", done + b"more\r\n"
    yield "body gone", signature + head + b"\r\n\r\n"


def test_any_change_of_what_is_signed_breaks_the_signature() -> None:
    changes = dict(altered())
    assert {"From edited", "From removed", "From doubled", "List-Unsubscribe-Post doubled"} <= changes.keys()
    assert [what for what, message in changes.items() if verified(message, RSA_RECORD) != [False]] == []


@pytest.mark.parametrize("field", ["Reply-To", "Cc", "From", "Subject"])
def test_nobody_can_add_what_we_left_out(field: str) -> None:
    message = b"From: letters@example.org\r\nSubject: a\r\n\r\nbody\r\n"
    done = signed(message, RSA_KEY)
    assert verified(done, RSA_RECORD) == [True]
    assert verified(f"{field}: thief@example.net\r\n".encode() + done, RSA_RECORD) == [False]


@pytest.mark.parametrize("field", ["List-Unsubscribe", "X-Mailer", "Received"])
def test_a_server_on_the_way_may_add_its_own(field: str) -> None:
    done = signed(b"From: letters@example.org\r\n\r\nbody\r\n", RSA_KEY)
    assert verified(f"{field}: something\r\n".encode() + done, RSA_RECORD) == [True]


def test_white_space_may_change_on_the_way() -> None:
    done = signed(b"From: letters@example.org\r\nSubject: a b\r\n\r\none two\r\n", RSA_KEY)
    bent = done.replace(b"a b", b"a\r\n\t b ").replace(b"one two", b"one  two \t") + b"\r\n\r\n"
    assert verified(bent, RSA_RECORD) == [True]


def test_the_tags_are_those_of_the_rfcs() -> None:
    found = tags(signed(MESSAGE, RSA_KEY))
    names = found["h"].lower().split(":")
    assert found | {"h": "", "bh": "", "b": ""} == {
        **{"v": "1", "a": "rsa-sha256", "c": "relaxed/relaxed", "d": "example.org", "s": "feedletter"},
        **{"t": str(int(NOW.timestamp())), "h": "", "bh": "", "b": ""},
    }
    assert names.count("from") == 2
    wanted = "to subject date message-id mime-version content-type reply-to list-id list-unsubscribe "
    assert set((wanted + "list-unsubscribe-post").split()) <= set(names)
    assert tags(signed(MESSAGE, ED25519_KEY))["a"] == "ed25519-sha256"


def test_lines_are_short_whatever_the_names() -> None:
    long = SigningKey("a-long-name." * 10 + "example.org", "selector" * 7, RSA_KEY.private)
    for key, limit in ((RSA_KEY, 78), (long, 160)):
        lines = sign(MESSAGE, [key], NOW).split(b"\r\n")
        assert max(map(len, lines)) <= limit
    message = sign(MESSAGE, [long], NOW) + MESSAGE
    assert verified(message, [record(long)]) == [True]


def test_without_keys_there_is_nothing_to_add() -> None:
    assert sign(b"no message at all", [], NOW) == b""


def test_a_message_without_a_from_is_not_signed() -> None:
    with pytest.raises(ValueError, match="no From"):
        sign(b"To: a@example.org\r\n\r\nbody", KEYS, NOW)


def test_many_threads_may_share_a_key() -> None:
    messages = list(composed(40, seed=2))
    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(signed, messages))
    assert [verified(message, RECORDS) for message in done] == [[True, True]] * 40


def test_a_key_does_not_show_itself() -> None:
    assert "private" not in repr(RSA_KEY)
    assert "signing_keys" not in repr(letter(signing_keys=KEYS))


@pytest.mark.parametrize(
    ("body", "form"),
    [
        # RFC 6376 §3.4.5, §3.4.4, and the empty body, whose relaxed form is empty.
        (b" C \r\nD \t E\r\n\r\n\r\n", b" C\r\nD E\r\n"),
        (b"", b""),
        (b"\r\n", b""),
        (b" \t\r\n\r\n \r\n", b""),
        (b"no line end", b"no line end\r\n"),
        (b"a\r\n\r\nb\r\n", b"a\r\n\r\nb\r\n"),
    ],
)
def test_a_body_is_relaxed_as_the_rfc_says(body: bytes, form: bytes) -> None:
    assert relaxed_body(body) == form


def test_fields_are_relaxed_as_the_rfc_says() -> None:
    head = b"A: X\r\nB : Y\t\r\n\tZ  "
    assert relaxed_fields(head) == [(b"a", b"X"), (b"b", b"Y Z")]


def test_a_form_feed_is_no_white_space() -> None:
    assert relaxed_fields(b"A: \x0cX\x0b ") == [(b"a", b"\x0cX\x0b")]


@given(bodies)
@settings(max_examples=examples(500))
def test_bodies_come_out_as_from_dkimpy(body: bytes) -> None:
    # As in SMTP: dkimpy handles a last line without an ending differently.
    body += b"\r\n" if body else b""
    assert relaxed_body(body) == Relaxed.canonicalize_body(body)


@given(values.map(b"".join))
@settings(max_examples=examples(500))
def test_fields_come_out_as_from_dkimpy(value: bytes) -> None:
    ((name, theirs),) = Relaxed.canonicalize_headers([(b"Subject \t", value)])
    assert relaxed_fields(b"Subject \t:" + value) == [(name, theirs.removesuffix(b"\r\n"))]


@given(bodies)
def test_relaxing_twice_changes_nothing(body: bytes) -> None:
    assert relaxed_body(relaxed_body(body)) == relaxed_body(body)


def test_a_message_without_a_body_is_all_header() -> None:
    assert split_message(b"A: b\r\n\r\n") == (b"A: b", b"")
    assert relaxed_fields(split_message(b"A: b\r\n")[0]) == [(b"a", b"b")]


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
