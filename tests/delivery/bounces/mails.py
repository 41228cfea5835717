"""Bounced mails, as hosts write them."""

from typing import Any

QMAIL = b"""Return-Path: <>
From: MAILER-DAEMON@mx.example.test
To: letters@sender.example
Subject: failure notice
Message-ID: <q1@mx.example.test>

Hi. This is the qmail-send program at mx.example.test.
I'm afraid I wasn't able to deliver your message to the following addresses.
This is a permanent error; I've given up. Sorry it didn't work out.

<ada@example.org>:
Sorry, no mailbox here by that name. (#5.1.1)

--- Below this line is a copy of the message.

From: letters@sender.example
Subject: A letter

Hello
"""


def dsn(*recipients: dict[str, str], to: str = "letters@sender.example", **changes: Any) -> bytes:
    """Return a report of RFC 3464 in Postfix's format; each recipient is its fields by name."""
    blocks = "\n\n".join("\n".join(f"{name}: {value}" for name, value in one.items()) for one in recipients)
    kind = changes.get("kind", "message/delivery-status")
    return f"""Return-Path: <>
Date: Tue, 3 Mar 2026 12:00:00 +0000 (UTC)
From: MAILER-DAEMON@mx.example.test (Mail Delivery System)
Subject: Undelivered Mail Returned to Sender
To: {to}
Auto-Submitted: auto-replied
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status; boundary="b1"
Message-Id: <{changes.get("id", "4bXyz")}@mx.example.test>

--b1
Content-Type: text/plain; charset=us-ascii

This is the mail system at host mx.example.test. I'm sorry.

--b1
Content-Type: {kind}
{changes.get("encoding", "")}
{changes.get("status") or "Reporting-MTA: dns; mx.example.test" + chr(10) * 2 + blocks}

--b1
Content-Type: message/rfc822

From: letters@sender.example
Subject: A letter
Message-ID: {changes.get("about", "<x@sender.example>")}

The mailbox of our quota is full of policy.
--b1--
""".encode()


def failed(address: str = "ada@example.org", status: str = "5.1.1", said: str = "") -> dict[str, str]:
    """Return the fields of a failed recipient."""
    said = said or ("No such user here" if status == "5.1.1" else "no")
    return {
        "Final-Recipient": f"rfc822; {address}",
        "Original-Recipient": f"rfc822;{address}",
        "Action": "failed",
        "Status": status,
        "Diagnostic-Code": f"smtp; 550 {status} {said}",
    }


def complaint(
    kind: str = "abuse", *, return_path: str = "letters@sender.example", whom: str = "", about: str = "<x@y>"
) -> bytes:
    """Return a report of RFC 5965."""
    recipient = f"Original-Rcpt-To: {whom}\n" if whom else ""
    return f"""From: feedback@provider.example
To: abuse@sender.example
Subject: FW: A letter
Message-ID: <{kind}-1@provider.example>
MIME-Version: 1.0
Content-Type: multipart/report; report-type=feedback-report; boundary="b2"

--b2
Content-Type: text/plain

This is an email abuse report.

--b2
Content-Type: message/feedback-report

Feedback-Type: {kind}
User-Agent: SomeGenerator/1.0
Version: 1
Original-Mail-From: <{return_path}>
{recipient}
--b2
Content-Type: message/rfc822

From: letters@sender.example
Message-ID: {about}
Subject: A letter

Hello
--b2--
""".encode()


def reply(subject: str = "Re: A letter", *, text: str = "Thank you!", **fields: str) -> bytes:
    """Return a reply written by a person or a program."""
    more = "".join(f"{name.replace('_', '-')}: {value}\n" for name, value in fields.items())
    return (
        f"From: Ada <ada@example.org>\nTo: letters@sender.example\nSubject: {subject}\n"
        f"Message-ID: <r1@example.org>\n{more}\n{text}\n"
    ).encode()
