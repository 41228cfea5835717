"""Mails to leave@BOUNCE_DOMAIN."""

from email.header import Header

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delivery.bounces.sources import leaving
from tests.delivery.bounces.mails import QMAIL, complaint, dsn, failed, reply

DOMAIN = "bounces.example"
TOKEN = "17-" + "0123456789abcdef" * 2
MACHINES = (dsn(failed()), complaint(), QMAIL)


def mail(subject: str, to: str = f"leave@{DOMAIN}", **fields: str) -> bytes:
    more = "".join(f"{name.replace('_', '-')}: {value}\n" for name, value in fields.items())
    return f"From: Ada <ada@example.org>\nTo: {to}\nSubject: {subject}\n{more}\nunsubscribe\n".encode()


def token(raw: bytes, recipient: str = "") -> str | None:
    return leaving(raw, domain=DOMAIN, recipient=recipient)


@pytest.mark.parametrize(
    "subject",
    [
        TOKEN,
        f"  {TOKEN}  ",
        f"Re: {TOKEN}",
        f"RE: AW: {TOKEN.upper()}",
        f"unsubscribe {TOKEN} please",
        f"=?utf-8?q?{TOKEN}?=",
        "=?UTF-8?B?MTctMDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=?=",
        f"=?utf-8?q?{TOKEN[:9]}?=\n =?utf-8?q?{TOKEN[9:]}?=",
        f"{TOKEN[:20]}\n {TOKEN[20:]}",
        f"Re: {TOKEN[:20]} {TOKEN[20:]}",
        Header(f"Žádost {TOKEN}", "utf-8").encode(),
    ],
)
def test_the_token_is_found_in_the_subject(subject: str) -> None:
    assert token(mail(subject)) == TOKEN
    assert token(mail(subject).replace(b"\n", b"\r\n")) == TOKEN


@pytest.mark.parametrize(
    "subject",
    ["", "unsubscribe", TOKEN[:-1], f"{TOKEN}0", f"x{TOKEN}", f"0{TOKEN}", "=?utf-8?b?====?=", "=?x?y?z?="],
)
def test_a_subject_without_a_token_names_nothing(subject: str) -> None:
    assert token(mail(subject)) == ""


@pytest.mark.parametrize(
    "to",
    [
        f"leave@{DOMAIN}",
        f"<Leave@{DOMAIN.upper()}>",
        f'"Leave, please" <leave@{DOMAIN}>',
        f"someone@example.org, leave@{DOMAIN}",
        f"leave+@{DOMAIN}",
    ],
)
def test_the_address_is_found_however_it_is_written(to: str) -> None:
    assert token(mail(TOKEN, to)) == TOKEN


@pytest.mark.parametrize("field", ["Cc", "Delivered_To", "X_Original_To", "Envelope_To"])
def test_the_address_may_stand_where_mail_hosts_write_it(field: str) -> None:
    assert token(mail(TOKEN, "undisclosed:;", **{field: f"leave@{DOMAIN}"})) == TOKEN


@pytest.mark.parametrize(
    "to",
    [
        "leave@other.example",
        f"leave@x{DOMAIN}",
        f"leave@{DOMAIN}.evil.example",
        f"dont-leave@{DOMAIN}",
        f"bounces+1-{'0' * 32}@{DOMAIN}",
        "",
    ],
)
def test_a_mail_to_anybody_else_is_not_for_us(to: str) -> None:
    assert token(mail(TOKEN, to)) is None


def test_the_envelope_goes_before_the_header() -> None:
    assert token(mail(TOKEN), f"bounces+1-{'0' * 32}@{DOMAIN}") is None
    assert token(mail(TOKEN, "x@example.org"), f"leave@{DOMAIN}") == TOKEN


@pytest.mark.parametrize("subject", ["", "unsubscribe", f"1-{'0' * 32}"])
def test_the_address_itself_may_hold_the_token(subject: str) -> None:
    assert token(mail(subject, f"<leave+{TOKEN}@{DOMAIN}>")) == TOKEN
    assert token(mail(subject, "x@y.example"), f"LEAVE+{TOKEN.upper()}@{DOMAIN}") == TOKEN


def test_without_a_bounce_domain_nothing_is() -> None:
    assert leaving(mail(TOKEN, "leave@"), domain="") is None


@pytest.mark.parametrize(
    "raw",
    [
        reply(f"Automatic reply: {TOKEN}", Auto_Submitted="auto-replied"),
        reply(f"Re: {TOKEN}", X_Autoreply="yes"),
        reply(f"Away: {TOKEN}", Return_Path="<>"),
        *(raw.replace(b"\nSubject: ", f"\nSubject: {TOKEN} ".encode()) for raw in MACHINES),
    ],
)
def test_machines_that_answer_do_not_leave(raw: bytes) -> None:
    assert leaving(raw, domain=DOMAIN, recipient=f"leave@{DOMAIN}") == ""


@pytest.mark.parametrize(
    "raw",
    [
        reply("unsubscribe", Auto_Submitted="auto-replied", X_Apple_Unsubscribe="true"),
        reply("unsubscribe", X_Autoreply="yes", Return_Path="<>"),
        *MACHINES,
    ],
)
def test_a_token_in_the_address_is_proof_enough_whatever_the_headers_say(raw: bytes) -> None:
    assert leaving(raw, domain=DOMAIN, recipient=f"leave+{TOKEN}@{DOMAIN}") == TOKEN


@pytest.mark.parametrize(
    "marks",
    [
        {"Auto_Submitted": "auto-replied", "X_Apple_Unsubscribe": "true"},
        {"Auto_Submitted": "auto-replied"},
        {"Auto_Submitted": "auto-generated", "Precedence": "bulk"},
        {"X_Auto_Response_Suppress": "All", "Return_Path": "<>"},
        {"X_Autoreply": "yes"},
    ],
)
def test_a_program_that_does_as_the_letter_says_leaves_whatever_it_calls_itself(
    marks: dict[str, str],
) -> None:
    assert token(mail(TOKEN, **marks)) == TOKEN
    assert token(mail(f"=?utf-8?q?{TOKEN}?=", **marks)) == TOKEN


def test_apple_mail_leaves_even_if_it_adds_to_the_subject() -> None:
    raw = mail(f"Unsubscribe: {TOKEN}", Auto_Submitted="auto-replied", X_Apple_Unsubscribe="true")
    assert token(raw) == TOKEN


def test_a_program_that_leaves_for_its_reader_does() -> None:
    raw = mail(TOKEN, Auto_Submitted="auto-generated", Return_Path="<ada@example.org>")
    assert token(raw) == TOKEN


def test_only_the_head_counts_and_only_its_beginning() -> None:
    assert token(f"To: x@y.example\n\nTo: leave@{DOMAIN}\nSubject: {TOKEN}\n".encode()) is None
    late = b"X-Long: " + b"x" * 70_000 + f"\nTo: leave@{DOMAIN}\nSubject: {TOKEN}\n\n".encode()
    assert token(late) is None
    assert token(mail("x" * 3_000 + " " + TOKEN)) == ""
    assert token(mail(TOKEN) + b"x" * 5_000_000) == TOKEN


@given(st.binary(max_size=400), st.text(max_size=60))
def test_nothing_that_comes_raises(noise: bytes, recipient: str) -> None:
    leaving(noise, domain=DOMAIN, recipient=recipient)
    leaving(f"To: leave@{DOMAIN}\nSubject: ".encode() + noise, domain=DOMAIN)
