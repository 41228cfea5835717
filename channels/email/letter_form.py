"""Letter encoded once, then filled for each recipient. Pure."""

import re
from collections.abc import Callable
from functools import lru_cache

from channels.email import headers
from channels.email.address import EmailAddress, parse_sender
from channels.email.body import body
from channels.email.mail_message import MailMessage
from channels.languages import DEFAULT_LANGUAGE
from channels.letter import Letter, Recipient
from channels.placeholders import (
    PERSONAL,
    fill_header,
    fill_html,
    fill_text,
    values_for,
    written_html,
    written_text,
)
from common.directions import language_tag
from common.signing import mac

# A test shows the letter as subscribers get it.
BULK_KINDS = frozenset({"issue", "test"})
# Gmail's feedback loop groups complaints by this: campaign, customer, kind of mail, sender.
SENDER_ID = "feedletter"
NO_RECIPIENT = Recipient(delivery_id=0, core="", label="")


class WireLetter:
    """Raises InvalidDestination for an invalid sender.

    Unsubscribe mails go to `bounce_domain`. `return_path` maps a delivery's id to the envelope sender (RFC
    5321 §4.4; empty: From).
    """

    def __init__(
        self,
        letter: Letter,
        *,
        site_host: str,
        bounce_domain: str = "",
        return_path: Callable[[int], str] = lambda _: "",
    ) -> None:
        self.letter, self._return_path = letter, return_path
        self._by_mail = f"mailto:leave@{bounce_domain}?subject=" if bounce_domain else ""
        self._sender = parse_sender(letter.from_email)
        self._is_bulk = letter.kind in BULK_KINDS
        # Gmail and Yahoo count a welcome as mail of the list.
        self._has_way_out = self._is_bulk or "removelink" in letter.placeholders
        head = [
            headers.address_field("From", self._sender),
            headers.address_field("Reply-To", parse_sender(letter.reply_to)) if letter.reply_to else "",
            "MIME-Version: 1.0\r\n",
            # RFC 3834 §5: prevents vacation notices.
            "Auto-Submitted: auto-generated\r\n",
            # As in the letter's html.
            f"Content-Language: {language_tag(letter.language) or DEFAULT_LANGUAGE}\r\n",
            *(_list_fields(letter, self._sender, site_host) if self._is_bulk else ()),
        ]
        self._head = "".join(head).encode()
        self._placeholders = {
            name: token
            for name, token in letter.placeholders.items()
            if letter.has_own_code or name in PERSONAL
        }
        common = {
            name: token for name, token in letter.placeholders.items() if name not in self._placeholders
        }
        values = values_for(letter, NO_RECIPIENT, common)
        text, html = fill_text(letter.text, common, values), fill_html(letter.html, common, values)
        self._subject = fill_header(letter.subject, common, values) if common else letter.subject
        # Nearly always the same for a whole issue.
        is_fixed = not any(token in self._subject for token in self._placeholders.values())
        self._fixed = headers.one_line(self._subject) if is_fixed else None
        self._body = body(
            text, html, self._placeholders, written_text=written_text, written_html=written_html
        )

    def message(self, recipient: Recipient) -> MailMessage:
        """Raises ValueError for an address that no header can hold."""
        letter = self.letter
        address = headers.checked(recipient.config.get("address") or recipient.core)
        values = values_for(letter, recipient, self._placeholders) if self._placeholders else {}
        subject = self._fixed
        if subject is None:
            subject = headers.one_line(fill_header(self._subject, self._placeholders, values))
        own = (
            f"{headers.to_field(address, recipient.name)}{_subject(subject)}Message-ID: "
            f"{message_id(letter.token, recipient.delivery_id, self._sender.domain)}\r\n"
        )
        if self._has_way_out and recipient.unsubscribe_url:
            link = recipient.unsubscribe_url
            by_mail = self._by_mail and self._by_mail + link.rstrip("/").rpartition("/")[2]
            # RFC 2369 §3.2: the preferred link is first. The second field is verbatim from RFC 8058 §3.1.
            leaving = headers.url_field("List-Unsubscribe", link, by_mail)
            own = f"{own}{leaving}List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n"
        filled, has_dots = self._body.filled(values)
        pieces = (self._head, own.encode(), *filled)
        envelope = self._return_path(recipient.delivery_id)
        sender = headers.checked(envelope) if envelope else self._sender.email
        return MailMessage(sender, address, subject, pieces, letter.signing_keys, has_dots)


def message_id(token: str, delivery_id: int, domain: str) -> str:
    """Return the same id for each attempt, so that mailboxes can drop a duplicate."""
    return f"<{message_mark(token, delivery_id)}.{delivery_id}@{domain}>"


def message_mark(token: str, delivery_id: int) -> str:
    """Return 32 hex digits that only readers of this letter know."""
    return mac(token, f"message-id:{delivery_id}")


def _list_fields(letter: Letter, sender: EmailAddress, site_host: str) -> list[str]:
    title = headers.phrase(letter.newsletter_title)
    # The newsletter's identity (RFC 2919), a dot-atom that does not change with the title.
    labels = [label for label in f"{letter.newsletter}.{site_host}".split(".") if label]
    identity = "<" + re.sub("[^A-Za-z0-9._-]", "-", ".".join(labels)) + ">"
    owner = f"mailto:{parse_sender(letter.reply_to).email if letter.reply_to else sender.email}"
    return [
        headers.named_field("List-Id", title, identity) if title else f"List-Id: {identity}\r\n",
        "Precedence: bulk\r\n",
        headers.url_field("List-Archive", letter.archive_url) if letter.archive_url else "",
        headers.url_field("List-Help", letter.page_url or owner),
        headers.url_field("List-Owner", owner),
        # RFC 2369 §3.4: nobody can post to the list.
        "List-Post: NO\r\n",
        f"Feedback-ID: {_plain(letter.token)}:{_plain(letter.newsletter)}:{letter.kind}:{SENDER_ID}\r\n",
    ]


def _plain(text: str) -> str:
    return re.sub("[^A-Za-z0-9._-]", "-", text)[:64]


@lru_cache(maxsize=64)
def _subject(text: str) -> str:
    return headers.text_field("Subject", text)
