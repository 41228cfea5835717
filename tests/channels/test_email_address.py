import contextlib

import pytest
from email_validator import EmailNotValidError, validate_email
from hypothesis import given
from hypothesis import strategies as st

from channels.email.address import MAX_NAME, parse_address, parse_sender
from channels.email.spec import EmailSpec
from common.ports.channels import InvalidDestination

LOCALS = st.text(alphabet="abzAZ09_+-.", min_size=1, max_size=70)
LABELS = st.text(alphabet="abzAZ09-", min_size=1, max_size=65)
DOMAINS = st.lists(LABELS, min_size=1, max_size=4).map(".".join) | st.sampled_from(
    ["example.org", "Sub.Example.COM", "example.test", "example.invalid", "x.local", "a.onion", "1.2.3.4"]
)


@pytest.mark.parametrize(
    ("text", "email", "core", "name"),
    [
        ("ada@example.org", "ada@example.org", "ada@example.org", ""),
        ("  Ada.L@Example.ORG ", "Ada.L@example.org", "ada.l@example.org", ""),
        ("Ada Lovelace <ada@example.org>", "ada@example.org", "ada@example.org", "Ada Lovelace"),
        ('"Lovelace, \\"Ada\\"" <ada@example.org>', "ada@example.org", "ada@example.org", 'Lovelace, "Ada"'),
        ("Dr. Ada, jr. <ada@example.org>", "ada@example.org", "ada@example.org", "Dr. Ada, jr."),
        ("<ada@example.org>", "ada@example.org", "ada@example.org", ""),
        ("Žofie <zofie@přiklad.cz>", "zofie@xn--piklad-pib.cz", "zofie@xn--piklad-pib.cz", "Žofie"),
        ("Žofie@example.org", "Žofie@example.org", "žofie@example.org", ""),
        ("a+b_c-d@sub.example.test", "a+b_c-d@sub.example.test", "a+b_c-d@sub.example.test", ""),
        ("o'hara@example.org", "o'hara@example.org", "o'hara@example.org", ""),
    ],
)
def test_an_address_is_read_with_its_name(text: str, email: str, core: str, name: str) -> None:
    address = parse_address(text)
    assert (address.email, address.core, address.name) == (email, core, name)


@pytest.mark.parametrize(
    "text",
    [
        "", "   ", "ada", "@example.org", "ada@", "ada@localhost", "ada@example", "ada@@example.org",
        "a@example.org, b@example.org", "a@example.org;b@example.org", "A <a@example.org>, B <b@example.org>",
        "a@example.org b@example.org", "<a@example.org", "a@example.org>", "<a@example.org> A",
        "<<a@example.org>>", "ada@example.org\nBcc: b@example.org", "a\x00da@example.org\x00",
        "Ada\r\nBcc: b@example.org <ada@example.org>", "Ada\x1b[1m <ada@example.org>",
        "a\u2028b <a@example.org>",
        "a" * 65 + "@example.org", "ada@" + "a" * 64 + ".org", "x" * 600 + " <ada@example.org>",
        "N" * (MAX_NAME + 1) + " <ada@example.org>", "ada@[127.0.0.1]", '"a b"@example.org',
        "a b@example.org",
        "ada..l@example.org", "ada@exa mple.org", "ada@example.invalid", "<script>@example.org",
    ],
)  # fmt: skip
def test_what_is_no_single_address_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(InvalidDestination) as caught:
        parse_address(text)
    said = str(caught.value)
    assert said.endswith(".")
    assert said.isprintable()


def test_the_unicode_form_of_a_domain_is_for_people() -> None:
    assert parse_address("a@xn--piklad-pib.cz").label == "a@přiklad.cz"


def test_letters_that_only_look_alike_are_two_addresses() -> None:
    assert parse_address("strasse@example.org").core != parse_address("straße@example.org").core


@given(st.emails())
def test_the_core_is_the_core_of_itself(text: str) -> None:
    try:
        core = parse_address(text).core
    except InvalidDestination:
        return
    assert parse_address(core).core == core
    assert parse_address(text.upper()).core == core


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        address = parse_address(text)
    except InvalidDestination:
        return
    assert (address.email + address.name).isprintable()
    assert address.domain.isascii()


@pytest.mark.parametrize("text", ["Feedletter <letters@127.0.0.1>", "letters@localhost", "a@example.org"])
def test_a_sender_may_be_of_this_machine(text: str) -> None:
    assert "@" in parse_sender(text).email


@pytest.mark.parametrize("text", ["", "Feedletter", "letters@local host", "a@b@c", "l@host\nBcc: x"])
def test_a_sender_is_still_an_address(text: str) -> None:
    with pytest.raises(InvalidDestination):
        parse_sender(text)


def test_a_destination_keeps_the_address_as_typed_and_compares_without_case() -> None:
    parsed = EmailSpec().parse_destination({"email": "Ada <Ada@Example.org>"})
    assert parsed.core == "ada@example.org"
    assert parsed.config == {"address": "Ada@example.org"}
    assert parsed.label == "Ada@example.org"
    assert parsed.display_name == "Ada"


def test_the_name_field_goes_before_the_name_beside_the_address() -> None:
    parsed = EmailSpec().parse_destination({"email": "Ada <ada@example.org>", "name": " Countess  of L. "})
    assert parsed.display_name == "Countess of L."


@pytest.mark.parametrize("name", ["x" * (MAX_NAME + 1), "a\r\nBcc: b@example.org", "a\x00b"])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(InvalidDestination, match="name"):
        EmailSpec().parse_destination({"email": "ada@example.org", "name": name})


def test_email_has_no_options() -> None:
    assert EmailSpec().parse_options({}) == {}
    with pytest.raises(InvalidDestination, match="colour"):
        EmailSpec().parse_options({"colour": "red"})


@given(st.emails(), st.data())
def test_one_mailbox_has_one_core_however_it_is_typed(text: str, data: st.DataObject) -> None:
    letters = (st.sampled_from([char.lower(), char.upper()]) for char in text if char.isascii())
    typed = "".join(data.draw(letter) for letter in letters)
    with contextlib.suppress(InvalidDestination):
        assert parse_address(typed).core == parse_address(typed.lower()).core


@pytest.mark.parametrize(
    ("typed", "core", "label"),
    [
        ("Ada@Bücher.example", "ada@xn--bcher-kva.example", "Ada@bücher.example"),
        ("Ada@XN--BCHER-KVA.example", "ada@xn--bcher-kva.example", "Ada@bücher.example"),
        ("Ada@BU\u0308CHER.example", "ada@xn--bcher-kva.example", "Ada@bücher.example"),
        ("Jörg@example.org", "jörg@example.org", "Jörg@example.org"),
        ("JO\u0308RG@example.org", "jörg@example.org", "JÖRG@example.org"),
    ],
)
def test_an_international_address_has_one_core_and_is_shown_as_people_read_it(
    typed: str, core: str, label: str
) -> None:
    assert (parse_address(typed).core, parse_address(typed).label) == (core, label)


@given(LOCALS, DOMAINS)
def test_plain_addresses_are_read_as_the_library_reads_them(local: str, domain: str) -> None:
    text = f"{local}@{domain}"
    try:
        valid = validate_email(text, strict=True, check_deliverability=False, test_environment=True)
    except EmailNotValidError:
        with pytest.raises(InvalidDestination):
            parse_address(text)
        return
    address = parse_address(text)
    ascii_domain = valid.ascii_domain.lower()
    assert address.email == f"{valid.local_part}@{ascii_domain}"
    assert address.label == f"{valid.local_part}@{valid.domain.lower()}"
    assert address.core == f"{valid.local_part.lower()}@{ascii_domain}"
