"""Bounced mails in standard, old and broken formats.

Nonstandard reports of hosts: the recipient and the kind of bounce.
Mails that are no bounce reports: letters, replies, forwards, Python's own test mails.
"""

import base64
import contextlib
import email
import time
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from channels.rules.verp import MOST_TOKENS, Token, address, tokens
from common.mail.parts import Unreadable
from delivery.bounces.fields import MAX_ADDRESS, MAX_DIAGNOSTIC, MAX_FINDINGS
from delivery.bounces.parsing import MAX_MAIL_BYTES, Mark, read_report, report_digest
from delivery.rules.bounce_policy import BounceKind
from tests.delivery.bounces.hosts import ADA, FILES, KINDS, LETTERS, report
from tests.delivery.bounces.mails import QMAIL, complaint, dsn, failed, reply
from tests.examples import examples, some_now

# Where Python was installed with its tests. Three of them are reports of old servers.
PYTHONS = Path(email.__file__).parents[1] / "test" / "test_email" / "data"
REPORTS = {"msg_16.txt", "msg_25.txt", "msg_43.txt"}
SOMEBODY_ELSE = {"bo@example.net", "help@host.test", LETTERS}
STAMP = "0123456789abcdef" * 2
SEEDS = [dsn(failed(), failed("b@c.de", "4.2.2")), complaint(whom="a@b.de"), QMAIL, reply("Out of office")]
SNIPPETS = [
    b"Content-Type: message/delivery-status\n\n",
    b"Content-Type: multipart/report; boundary=\xff\n",
    b"Content-Transfer-Encoding: base64\n",
    b"Final-Recipient: utf-8; \\x{110000}\\x{D800}\\x{0}@x\n",
    b"Status: 5..\n",
    b"Subject: =?utf-8?b?////?=\n",
    b'Content-Type: text/plain; charset="no\\\0such"\n',
    b"--b1\n",
    b"\n\n",
    b"\r",
    b"\0",
]


def test_a_delivery_report_says_who_what_and_in_whose_words() -> None:
    report = read_report(dsn(failed("Ada@example.org", said="No such user; try Bo")))
    (found,) = report.findings
    assert (report.kind, found.kind, found.status) == (BounceKind.HARD, BounceKind.HARD, "5.1.1")
    assert found.addresses == ("Ada@example.org",)
    assert found.diagnostic == "550 5.1.1 No such user; try Bo"


def test_every_recipient_is_told_and_the_worst_gives_the_kind() -> None:
    actions = {"delayed": "4.4.1", "delivered": "2.0.0", "relayed": "2.0.0", "expanded": "2.0.0"}
    report = read_report(
        dsn(
            *({**failed(f"{action}@x.org", status), "Action": action} for action, status in actions.items()),
            failed("full@x.org", "5.2.2"),
            failed("no@x.org", "5.7.1"),
        )
    )
    kinds = [found.kind for found in report.findings]
    assert kinds == [
        BounceKind.DELAYED,
        BounceKind.ARRIVED,
        BounceKind.ARRIVED,
        BounceKind.ARRIVED,
        BounceKind.SOFT,
        BounceKind.POLICY,
    ]
    assert report.kind is BounceKind.SOFT


def test_the_address_as_we_wrote_it_goes_before_the_one_that_was_tried() -> None:
    fields = failed("forwarded@else.test") | {"Original-Recipient": "rfc822; <ada@example.org>"}
    assert read_report(dsn(fields)).findings[0].addresses == ("ada@example.org", "forwarded@else.test")


@pytest.mark.parametrize(
    "encoding", ["", "Content-Transfer-Encoding: base64\n", "Content-Transfer-Encoding: quoted-printable\n"]
)
@pytest.mark.parametrize("written", ["utf-8; žofie@přiklad.test", r"utf-8; \x{17E}ofie@p\x{159}iklad.test"])
def test_addresses_with_letters_of_all_languages(encoding: str, written: str) -> None:
    status = (
        "Reporting-MTA: dns; mx.example.test\n\n"
        f"Final-Recipient: {written}\nAction: failed\nStatus: 5.1.1\nDiagnostic-Code: smtp; 550 5.1.1 není\n"
    )
    if "base64" in encoding:
        status = base64.encodebytes(status.encode()).decode()
    elif encoding:
        status = (
            status.replace("=", "=3D").replace("ž", "=C5=BE").replace("ř", "=C5=99").replace("í", "=C3=AD")
        )
    report = read_report(dsn(kind="message/global-delivery-status", encoding=encoding, status=status))
    (found,) = report.findings
    assert (found.addresses, found.kind) == (("žofie@přiklad.test",), BounceKind.HARD)
    assert found.diagnostic == "550 5.1.1 není"


def test_a_status_that_says_nothing_gives_way_to_the_servers_words() -> None:
    fields = failed(status="5.0.0") | {"Diagnostic-Code": "smtp; 552 5.2.2 Mailbox full"}
    assert read_report(dsn(fields)).findings[0].status == "5.2.2"


@pytest.mark.parametrize("kind", ["abuse", "fraud", "opt-out"])
def test_a_complaint_names_its_reader(kind: str) -> None:
    report = read_report(complaint(kind, whom="ada@example.org"))
    assert report.kind is BounceKind.COMPLAINT
    assert report.findings[0].addresses == ("ada@example.org",)


def test_a_complaint_of_several_readers_names_each() -> None:
    raw = complaint(whom="ada@example.org").replace(
        b"Original-Rcpt-To: ", b"Original-Rcpt-To: bo@example.org\nOriginal-Rcpt-To: "
    )
    named = [found.addresses for found in read_report(raw).findings]
    assert named == [("bo@example.org",), ("ada@example.org",)]


def test_a_complaint_that_names_nobody_is_about_whom_the_letter_was_for() -> None:
    raw = complaint().replace(
        b"From: letters@sender.example\nMessage-ID", b"To: Ada <ada@example.org>\nMessage-ID"
    )
    assert read_report(raw).findings[0].addresses == ("ada@example.org",)


def test_a_redacted_complaint_is_one_too_and_what_is_none_is_not() -> None:
    assert read_report(complaint()).kind is BounceKind.COMPLAINT
    assert read_report(complaint("not-spam")).kind is BounceKind.AUTO_REPLY
    assert {read_report(complaint(kind)).kind for kind in ("virus", "other", "auth-failure", "x")} == {
        BounceKind.UNKNOWN
    }


@pytest.mark.parametrize(
    "mail",
    [
        reply(Auto_Submitted="auto-replied"),
        reply(Auto_Submitted="auto-replied; owner-email=a@example.org"),
        reply(X_Autoreply="yes"),
        reply("Out of office: until Monday", Precedence="bulk"),
        reply("Automatic reply: A letter", X_Auto_Response_Suppress="All"),
        reply("Abwesenheitsnotiz", Return_Path="<>"),
        reply("Out of office", Auto_Submitted="auto-generated", text="ada@example.org: user unknown"),
        reply("Risposta automatica: A letter", Return_Path="<>", text="Sono assente. Scrivete a bo@x.org"),
        reply("Automatisch antwoord: A letter", X_Auto_Response_Suppress="All"),
        reply("Poza biurem", Precedence="bulk"),
        reply("=?iso-2022-jp?b?GyRCSVQ6XxsoQg==?=", Return_Path="<>"),
        reply("=?utf-8?b?6Ieq5YuV6L+U5L+h?=", Return_Path="<>"),
    ],
)
def test_automatic_replies_are_no_bounces(mail: bytes) -> None:
    assert read_report(mail).kind is BounceKind.AUTO_REPLY


@pytest.mark.parametrize(
    "mail",
    [
        reply(),
        reply("I was out of office"),
        reply(Auto_Submitted="no"),
        reply(Precedence="bulk"),
        reply(
            "Fwd: Undelivered Mail Returned to Sender", text="Look!\n\n> <bo@x.org>: 550 5.1.1 User unknown"
        ),
        reply("Delivery failed", text="Your letter to bo@x.org came back: 550 5.1.1 User unknown. Why?"),
        reply("Re: A letter", text="My mailbox was full, and the user unknown.", Return_Path="<>"),
        reply("Back in May", text="Ask bo@x.org; my account is closed till then.", Return_Path="<>"),
        reply("A letter", text="bo@x.org is a bad address").replace(b"Ada <ada@", b"<postmaster@"),
        reply("A letter", text="Final-Recipient: rfc822; ada@example.org\nAction: failed\nStatus: 5.1.1\n"),
        reply().replace(b"From: Ada <ada@example.org>\n", b""),
    ],
)
def test_what_a_person_wrote_is_neither(mail: bytes) -> None:
    assert read_report(mail).kind is BounceKind.UNKNOWN


def test_a_bounce_of_no_standard_form_is_understood_by_its_words() -> None:
    (found,) = read_report(QMAIL).findings
    assert (found.kind, found.addresses, found.status) == (BounceKind.HARD, ("ada@example.org",), "5.1.1")
    full = QMAIL.replace(b"Sorry, no mailbox here by that name. (#5.1.1)", b"Mailbox quota exceeded.")
    assert read_report(full).kind is BounceKind.SOFT
    vague = QMAIL.replace(b"Sorry, no mailbox here by that name. (#5.1.1)", b"I could not.")
    assert read_report(vague).kind is BounceKind.SOFT


# --- what names our letters


def test_return_addresses_and_message_ids_are_found_wherever_they_stand() -> None:
    one, two = Token(7, STAMP), Token(0xFFF, STAMP[::-1])
    mark = "f" * 32
    raw = dsn(failed(), to=address(one, "b.example").upper(), about=f"<{mark}.12@sender.example>")
    report = read_report(raw + b"\nReturn-Path: <" + address(two, "b.example").encode() + b">\n")
    assert report.tokens == (one, two)
    assert report.marks == (Mark(12, mark),)


@given(st.integers(1, 2**63 - 1), st.binary(min_size=16, max_size=16))
def test_a_return_address_is_short_and_reads_back_in_any_case(pk: int, stamp: bytes) -> None:
    token = Token(pk, stamp.hex())
    made = address(token, "b.example")
    assert len(made.partition("@")[0]) <= 64
    for way in (made, made.upper(), made.title()):
        assert tokens(f"To: <{way}>".encode()) == (token,)


@given(st.binary(max_size=300))
def test_tokens_of_anything_are_few_and_whole(raw: bytes) -> None:
    many = b"".join(b" bounces+%x-" % n + STAMP.encode() for n in range(1, 30))
    assert len(tokens(raw + many)) == MOST_TOKENS
    assert tokens(b"bounces+7-" + STAMP.encode() + b"f@x") == ()


def test_the_digest_is_the_reports_own() -> None:
    raw = dsn(failed())
    assert report_digest(raw) == report_digest(b"Received: x\r\n" + raw.replace(b"\n", b"\r\n") + b"\r\n")
    others = {
        report_digest(dsn(failed(), id="other")),
        report_digest(dsn(failed("b@c.de"))),
        report_digest(raw, 7),
        report_digest(raw),
    }
    assert len(others) == 4


# --- against it


def nested(depth: int) -> bytes:
    mail = b"From: a@b.org\n\nx"
    for _ in range(depth):
        mail = b"Content-Type: message/rfc822\n\n" + mail
    return mail


@pytest.mark.parametrize(
    "raw",
    some_now(
        [
            nested(90),
            dsn(*(failed(f"a{n}@b.org") for n in range(5000))),
            dsn(failed("a" * 100_000 + "@b.org", said="x" * 500_000)),
            b"From: a@b.org\nContent-Type: multipart/mixed; boundary=x\n\n" + b"--x\n\n\n" * 100_000,
            b"From: a@b.org\nSubject: " + b"=?utf-8?q?=" * 50_000 + b"\n\n" + b"(" * 100_000,
            b"From: MAILER-DAEMON@x\nSubject: failure notice\n\n" + b"<a@b.org>:\n" * 100_000,
            b"From: a@b.org\n" + b"A: b\n" * 100_000 + b"\n",
            b"From: MAILER-DAEMON@x\n\n" + b"Final-Recipient: rfc822; a@b.org\n\n" * 50_000,
            b"From: MAILER-DAEMON@x\n\n" + b"".join(b"<u%d@b.org>: no\n" % n for n in range(90_000)),
            b"From: MAILER-DAEMON@x\nContent-Type: text/html\n\n" + b"<style " * 250_000,
            b"From: x@sns.amazonaws.com\n\n" + b'{"a":' * 350_000,
            b"From: MAILER-DAEMON@x\nContent-Type: text/plain" + b";" * 1_500_000 + b"\n\nno",
        ]
    ),
    ids=[
        "nested",
        "recipients",
        "words",
        "parts",
        "encoded",
        "loose",
        "headers",
        "fields",
        "addresses",
        "html",
        "json",
        "parameters",
    ],
)
def test_large_and_twisted_mails_are_read_quickly_and_bounded(raw: bytes) -> None:
    began = time.process_time()
    with contextlib.suppress(Unreadable):
        report = read_report(raw)
        assert len(report.findings) <= MAX_FINDINGS
        assert all(len(found.diagnostic) <= MAX_DIAGNOSTIC for found in report.findings)
        assert all(len(who) <= MAX_ADDRESS for found in report.findings for who in found.addresses)
    assert time.process_time() - began < 4


def test_too_many_parts_are_refused() -> None:
    with pytest.raises(Unreadable, match="more than 100 parts"):
        read_report(nested(101))
    with pytest.raises(Unreadable, match="may divide parts"):
        read_report(b"From: a@b.org\n\n" + b"--x\n" * 2001)
    with pytest.raises(Unreadable, match="no header"):
        read_report(b"")


def test_only_the_beginning_is_read() -> None:
    raw = b"From: a@b.org\n\n".ljust(MAX_MAIL_BYTES, b"x")
    assert read_report(raw + b" bounces+7-" + STAMP.encode()).tokens == ()


@st.composite
def mangled(draw: st.DrawFn) -> bytes:
    """Draw a mail with pieces cut out, duplicated and inserted."""
    raw = draw(st.sampled_from(SEEDS))
    for _ in range(draw(st.integers(0, 6))):
        at = draw(st.integers(0, len(raw)))
        end = draw(st.integers(at, min(len(raw), at + 80)))
        piece = draw(st.sampled_from([b"", raw[at:end] * 2, *SNIPPETS]) | st.binary(max_size=20))
        raw = raw[:at] + piece + raw[end:]
    return raw


@settings(max_examples=examples(400), suppress_health_check=[HealthCheck.too_slow])
@given(mangled() | st.binary(max_size=400))
def test_nothing_but_unreadable_is_ever_raised(raw: bytes) -> None:
    assert len(report_digest(raw)) == 64
    with contextlib.suppress(Unreadable):
        report = read_report(raw)
        said = [report.words, *(found.diagnostic for found in report.findings)]
        said += [who for found in report.findings for who in found.addresses]
        for text in said:
            text.encode()
            assert "\0" not in text
            assert "\n" not in text
            assert len(text) <= MAX_DIAGNOSTIC
        assert all(len(found.status) <= 16 for found in report.findings)


def test_each_file_has_its_kind() -> None:
    assert {file.stem for file in FILES.iterdir()} == set(KINDS)


@pytest.mark.parametrize("name", KINDS)
def test_a_report_of_any_host_says_who_and_what(name: str) -> None:
    told = {
        address: found.kind for found in read_report(report(name)).findings for address in found.addresses
    }
    assert told[ADA] is KINDS[name]
    # One report named two recipients.
    assert name == "opensmtpd_the_words_in_the_text_only" or not SOMEBODY_ELSE & told.keys()


@pytest.mark.skipif(not PYTHONS.is_dir(), reason="Python was installed without its tests")
def test_of_pythons_own_test_mails_none_is_a_report_but_those_that_are() -> None:
    found = {file.name for file in PYTHONS.glob("*.txt") if kind(file.read_bytes()) is not BounceKind.UNKNOWN}
    assert found == REPORTS


def kind(raw: bytes) -> BounceKind:
    try:
        return read_report(raw).kind
    except Unreadable:
        return BounceKind.UNKNOWN


@pytest.mark.parametrize("name", KINDS)
def test_a_forwarded_report_is_none(name: str) -> None:
    """Forwarded by a person, as an attachment or as copied text."""
    words = "Look what came back: the address does not exist, it says. 550 5.1.1 User unknown."
    attached = EmailMessage()
    attached.set_content(words)
    attached.add_attachment(message_from_bytes(report(name), policy=default))
    copied = words.encode() + b"\n\n" + b"".join(b"> " + line for line in report(name).splitlines(True))
    head = b"From: Bo <bo@example.net>\nTo: letters@sender.example\nSubject: Fwd: failure notice\n"
    assert kind(head + attached.as_bytes()) is BounceKind.UNKNOWN
    assert kind(head + b"\n" + copied) is BounceKind.UNKNOWN


@pytest.mark.parametrize(
    ("subject", "marks"),
    [
        ("A letter", ""),
        (
            "Undeliverable love",
            "List-Id: <a.sender.example>\nAuto-Submitted: auto-generated\nPrecedence: bulk\n",
        ),
        ("Delivery status of our parcels", "Return-Path: <bounces+1-0@sender.example>\n"),
    ],
)
def test_a_letter_about_bounces_is_none(subject: str, marks: str) -> None:
    text = (
        "Why mail comes back\n\n550 5.1.1 <bo@example.net>: User unknown\n"
        "Final-Recipient: rfc822; bo@example.net\nAction: failed\nStatus: 5.1.1\n\nYour mailbox is full.\n"
    )
    head = f"From: Letters <letters@sender.example>\nTo: ada@example.org\nSubject: {subject}\n{marks}"
    assert kind(f"{head}\n{text}".encode()) is BounceKind.UNKNOWN


def test_a_mail_from_nobody_is_read_without_a_word_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    assert kind(b"To: letters@sender.example\nSubject: failure notice\n\nno\n") is BounceKind.UNKNOWN
    assert not caplog.records


def test_a_read_receipt_is_none() -> None:
    """RFC 8098: it also has a Final-Recipient."""
    status = (
        "Reporting-UA: x\n\nFinal-Recipient: rfc822; ada@example.org\nDisposition: manual-action; displayed"
    )
    raw = dsn(failed(), kind="message/disposition-notification", status=status)
    assert kind(raw.replace(b"MAILER-DAEMON@", b"ada@").replace(b"delivery-status", b"x")) in (
        BounceKind.UNKNOWN,
        BounceKind.AUTO_REPLY,
    )
