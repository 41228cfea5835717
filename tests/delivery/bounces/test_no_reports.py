"""Mails that are no bounce reports: letters, replies, forwards, Python's own test mails."""

import email
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from pathlib import Path

import pytest

from delivery.bounces.parsing import Unreadable, read_report
from delivery.rules.bounce_policy import BounceKind
from tests.delivery.bounces.hosts import KINDS, report
from tests.delivery.bounces.mails import dsn, failed

# Where Python was installed with its tests. Three of them are reports of old servers.
PYTHONS = Path(email.__file__).parents[1] / "test" / "test_email" / "data"
REPORTS = {"msg_16.txt", "msg_25.txt", "msg_43.txt"}


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
