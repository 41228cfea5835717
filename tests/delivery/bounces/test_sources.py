"""Reading the mailbox of BOUNCE_URL: no mail is read twice, and none is lost.

Mails to leave@BOUNCE_DOMAIN.
"""

import os
import ssl
from email.header import Header
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from hypothesis import given
from hypothesis import strategies as st

from channels.email.headers import return_path
from delivery.bounces import record, sources
from delivery.bounces.account import MailAccount, parse_bounce_url
from delivery.bounces.parsing import MAX_MAIL_BYTES
from delivery.bounces.sources import SourceError, collect_bounces, leaving, open_mailbox, read_bounces
from delivery.models import Bounce
from subscriptions.models import Suppression
from tests.common.certificates import self_signed, server_context
from tests.console import json_of, printed, refused
from tests.delivery.bounces.mails import QMAIL, complaint, dsn, failed, reply
from tests.delivery.ledger import Clock
from tests.examples import some_now
from tests.factories import DeliveryFactory
from tests.servers.mail_servers import PASSWORD, ImapServer, MailServer, Pop3Server

DOMAIN = "bounces.example"
TOKEN = "17-" + "0123456789abcdef" * 2
MACHINES = (dsn(failed()), complaint(), QMAIL)
MAILS = [QMAIL, reply("Out of office", Auto_Submitted="auto-replied"), b".\n.. no mail\n" + b"x" * 5000]
SERVERS = pytest.mark.parametrize("kind", [ImapServer, Pop3Server])


def waiting(url: str, context: ssl.SSLContext | None = None) -> list[bytes]:
    """Return the waiting mails without marking them."""
    where = parse_bounce_url(url)
    assert where is not None
    with open_mailbox(where, context=context) as source:
        return [mail.raw for mail in source.mails()]


def normal(raw: bytes) -> bytes:
    return b"\n".join(raw.splitlines())


def a_maildir(path: Path, *mails: bytes) -> Path:
    for name in ("new", "cur", "tmp"):
        (path / name).mkdir(parents=True)
    for number, raw in enumerate(mails):
        (path / "new" / f"{number}.host").write_bytes(raw)
    return path


@SERVERS
def test_a_server_gives_each_mail_whole(kind: type[MailServer]) -> None:
    with kind(MAILS) as server:
        assert [normal(raw) for raw in waiting(server.url)] == [normal(raw) for raw in MAILS]


@SERVERS
def test_what_was_taken_does_not_come_again(kind: type[MailServer]) -> None:
    with kind(MAILS) as server:
        where = parse_bounce_url(server.url)
        assert where
        with open_mailbox(where) as source:
            for mail in source.mails():
                if mail.raw.startswith(b"Return-Path"):
                    source.done(mail)
        assert [normal(raw) for raw in waiting(server.url)] == [normal(raw) for raw in MAILS[1:]]


@SERVERS
def test_tls_needs_a_certificate_that_is_trusted(kind: type[MailServer], tmp_path: Path) -> None:
    certificate = self_signed(tmp_path, "localhost")
    trusted = ssl.create_default_context(cafile=str(certificate))
    with kind(MAILS, context=server_context(certificate)) as server:
        assert len(waiting(server.url, trusted)) == 3
        with pytest.raises(SourceError, match="certificate was refused"):
            waiting(server.url)


@SERVERS
def test_a_wrong_password_is_told_without_it(kind: type[MailServer]) -> None:
    with kind(MAILS) as server, pytest.raises(SourceError, match="cannot be read") as caught:
        waiting(server.url.replace("p%26ss", "wrong"))
    assert "wrong word" not in str(caught.value)
    assert PASSWORD not in str(caught.value)


@SERVERS
@pytest.mark.parametrize("verb", some_now(["LOGIN|USER", "SEARCH|LIST", "FETCH|RETR"]))
def test_a_server_that_hangs_up_or_falls_silent(
    kind: type[MailServer], verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "TIMEOUT", 0.3)
    verb = verb.split("|")[kind is Pop3Server]
    for broken in (kind(MAILS, breaks_at=verb), kind(MAILS, silent_at=verb)):
        with broken as server, pytest.raises(SourceError, match="cannot be read"):
            waiting(server.url)


def test_a_server_that_is_not_there() -> None:
    with pytest.raises(SourceError, match="Connection refused"):
        waiting("imap://a:b@127.0.0.1:9")


def test_a_folder_that_is_not_there_is_told() -> None:
    with ImapServer(MAILS) as server, pytest.raises(SourceError, match="the folder Else was refused"):
        waiting(f"{server.url}/Else")


def test_of_a_very_large_mail_only_the_beginning_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "mail_takers", [])
    large = QMAIL + b"x" * MAX_MAIL_BYTES
    with ImapServer([large]) as server:
        assert waiting(server.url) == [large[:MAX_MAIL_BYTES]]
    assert waiting(f"maildir://{a_maildir(tmp_path / 'box', large)}") == [large[:MAX_MAIL_BYTES]]


def test_a_maildir_moves_what_was_taken_to_cur(tmp_path: Path) -> None:
    box = a_maildir(tmp_path / "box", *MAILS)
    os.symlink("/etc/passwd", box / "new" / "link")
    with open_mailbox(box) as source:
        mails = list(source.mails())
        assert [mail.raw for mail in mails] == MAILS
        source.done(mails[0])
    assert [file.name for file in (box / "cur").iterdir()] == ["0.host:2,S"]
    assert (box / "cur" / "0.host:2,S").read_bytes() == MAILS[0]
    assert waiting(f"maildir://{box}") == MAILS[1:]


def test_a_maildir_that_is_none_is_told(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="No such file"):
        waiting(f"maildir://{tmp_path}")


@pytest.mark.parametrize(
    "url",
    [
        "imaps://host/INBOX",
        "imaps://user:@host",
        "imaps://u:secret@host:x/",
        "imaps://u:secret@host:0",
        "pop3s://u:secret@host/INBOX",
        "http://u:secret@host",
        "maildir://relative/path",
        "maildir:///",
        "imaps://u:secret@ho st",
        "imaps://u:secret%0d%0aX@host",
        "imaps://u:se#cret@host",
        "imaps://u:secret@[::1",
    ],
)
def test_a_wrong_address_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="BOUNCE_URL is wrong") as caught:
        parse_bounce_url(url)
    assert "secret" not in str(caught.value)


def test_addresses_are_read() -> None:
    assert parse_bounce_url("") is None
    assert parse_bounce_url("maildir:///var/mail/bounces/") == Path("/var/mail/bounces")
    read = parse_bounce_url("imaps://us%40er:p%2Fw@mail.example/Return%20mail")
    assert read == MailAccount("imaps", "mail.example", 993, "us@er", "p/w", "Return mail")
    assert "p/w" not in repr(read)


# --- the pass


@pytest.mark.django_db
@SERVERS
def test_a_pass_takes_what_waits_once(kind: type[MailServer], settings: Any) -> None:
    settings.BOUNCE_DOMAIN = "bounces.example"
    row = DeliveryFactory(state="sent")
    raw = dsn(failed(row.destination.core), to=return_path(row.pk))
    with kind([raw, *MAILS]) as server:
        settings.BOUNCE_URL = server.url
        counts = read_bounces(clock=Clock())
        assert counts == {"hard": 1, "unknown": 2, "auto_reply": 1}
        assert read_bounces(clock=Clock()) == {}
    assert Suppression.objects.get().core == row.destination.core


@pytest.mark.django_db
@SERVERS
def test_a_pass_that_dies_takes_the_rest_later_and_nothing_twice(
    kind: type[MailServer], settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = record.take_report, []

    def dying(**facts: Any) -> Any:
        taken = real(**facts)
        calls.append(taken)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return taken

    monkeypatch.setattr(sources, "take_mail", dying)
    with kind([QMAIL, QMAIL.replace(b"<q1@", b"<q2@"), QMAIL.replace(b"<q1@", b"<q3@")]) as server:
        settings.BOUNCE_URL = server.url
        with pytest.raises(KeyboardInterrupt):
            collect_bounces(clock=Clock())
        read_bounces(clock=Clock())
        assert read_bounces(clock=Clock()) == {}
    assert Bounce.objects.count() == 3


@pytest.mark.django_db
def test_one_that_cannot_be_taken_stays_and_stops_no_other(
    settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = a_maildir(tmp_path / "box", *MAILS)
    settings.BOUNCE_URL = f"maildir://{box}"
    real = record.take_report

    def picky(*, raw: bytes, now: Any) -> Any:
        if raw == QMAIL:
            raise RuntimeError("never this one")
        return real(raw=raw, now=now)

    monkeypatch.setattr(sources, "take_mail", picky)
    assert read_bounces(clock=Clock()) == {"failed": 1, "auto_reply": 1, "unknown": 1}
    assert [file.name for file in (box / "new").iterdir()] == ["0.host"]


@pytest.mark.django_db
def test_without_a_mailbox_the_task_does_nothing_and_a_bad_one_is_logged(settings: Any, caplog: Any) -> None:
    settings.BOUNCE_URL = ""
    assert read_bounces(clock=Clock()) == {}
    settings.BOUNCE_URL = "maildir:///nowhere"
    assert read_bounces(clock=Clock()) == {}
    assert "The Maildir /nowhere cannot be read" in caplog.text


@pytest.mark.django_db
def test_the_command_reads_now_or_says_what_is_wrong(settings: Any, tmp_path: Path) -> None:
    settings.BOUNCE_URL = ""
    assert "BOUNCE_URL is not set" in refused("read_bounces")
    settings.BOUNCE_URL = "maildir:///nowhere"
    assert "cannot be read" in refused("read_bounces")
    settings.BOUNCE_URL = f"maildir://{a_maildir(tmp_path / 'box', *MAILS)}"
    assert printed("read_bounces") == "3 emails read: 1 auto reply, 2 unknown.\n"
    assert json_of("read_bounces") == {}


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
