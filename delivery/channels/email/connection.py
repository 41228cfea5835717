"""One SMTP connection: smtplib's commands over a reader with bounds."""

import base64
import smtplib
import socket
import ssl
import time
from contextlib import suppress
from dataclasses import dataclass

from delivery.channels.email.answers import words
from delivery.channels.email.failures import CannotConnect, Lost, reason
from delivery.channels.email.transport import IMPLICIT, STARTTLS, SmtpSettings

MAX_REPLY = 65_536


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds. RFC 5321 §4.5.3.2.6 wants patience after the final dot: who gives up there sends twice."""

    connect: float = 10
    reply: float = 60
    message: float = 120
    quit: float = 2


class Connection(smtplib.SMTP):
    """Connected, greeted, encrypted and logged in, or CannotConnect. Every method may raise Lost."""

    def __init__(
        self, target: SmtpSettings, *, helo: str, context: ssl.SSLContext | None, timeouts: Timeouts
    ) -> None:
        super().__init__(local_hostname=helo, timeout=timeouts.connect)
        self.target, self.timeouts = target, timeouts
        self.context = context or ssl.create_default_context()
        self.messages = 0
        self.wait = timeouts.reply
        self._unread = b""
        try:
            self._establish()
        except BaseException:
            self.close()
            raise

    def _establish(self) -> None:
        where = f"The mail server {self.target.name}"
        try:
            self._open()
            self._greet()
            if self.target.security == STARTTLS:
                self._encrypt()
            if self.target.user:
                self._log_in()
        except Lost as error:
            raise CannotConnect(f"{where} broke off before it took anything: {error}") from error
        except (OSError, UnicodeError) as error:
            raise CannotConnect(f"{where} cannot be reached: {reason(error)}") from error
        except smtplib.SMTPResponseException as error:
            raise CannotConnect(
                f"{where} is not ready: {words(error.smtp_code, error.smtp_error)}"
            ) from error

    def _open(self) -> None:
        sock = socket.create_connection((self.target.host, self.target.port), self.timeouts.connect)
        self.sock = sock
        # Nagle's algorithm would hold the end of every message until the rest is acknowledged: 40 ms each.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.target.security == IMPLICIT:
            self.sock = self.context.wrap_socket(sock, server_hostname=self.target.host)

    def _greet(self) -> None:
        code, text = self.getreply()
        if code != 220:
            raise smtplib.SMTPConnectError(code, text)
        self._introduce()

    def _introduce(self) -> None:
        """EHLO; HELO only for a server that does not know it: any other refusal is meant for us."""
        code, text = self.ehlo()
        if code in (500, 502, 504):
            code, text = self.helo()
        if code != 250:
            raise smtplib.SMTPHeloError(code, text)

    def _encrypt(self) -> None:
        if not self.has_extn("starttls"):
            raise CannotConnect(f"{self.target.name} does not offer STARTTLS: use smtps:// in EMAIL_URL.")
        code, text = self.docmd("STARTTLS")
        if code != 220 or self.sock is None:
            raise smtplib.SMTPResponseException(code, text)
        # RFC 3207 §4.2: forget whatever was said in the clear, or somebody on the way could have said it.
        self._unread = b""
        self.sock.settimeout(self.timeouts.connect)
        self.sock = self.context.wrap_socket(self.sock, server_hostname=self.target.host)
        self._introduce()

    def _log_in(self) -> None:
        offered = self.esmtp_features.get("auth", "").upper().split()
        user, password = self.target.user.encode(), self.target.password.encode()
        if "PLAIN" in offered:
            code, text = self.docmd("AUTH", "PLAIN " + _base64(b"\0" + user + b"\0" + password))
        elif "LOGIN" in offered:
            code, text = self.docmd("AUTH", "LOGIN " + _base64(user))
            if code == 334:
                code, text = self.docmd(_base64(password))
        else:
            raise CannotConnect(
                f"{self.target.name} offers no login we know (PLAIN, LOGIN) here; "
                "try smtp+starttls:// or smtps:// in EMAIL_URL, or leave out user and password."
            )
        if code != 235:
            raise CannotConnect(
                f"{self.target.name} refused the login; check user and password in EMAIL_URL: "
                f"{words(code, text)}"
            )

    def send(self, s: bytes | str) -> None:  # type: ignore[override]  # typeshed allows any buffer
        """Raises Lost, `sent_all` False: not all of it has left."""
        if self.sock is None:
            raise Lost("not connected", sent_all=False)
        try:
            self.sock.settimeout(self.timeouts.reply)
            self.sock.sendall(s.encode() if isinstance(s, str) else s)
        except OSError as error:
            self.close()
            raise Lost(reason(error), sent_all=False) from error

    def getreply(self) -> tuple[int, bytes]:
        """Code and text of one reply within `self.wait` seconds; -1 for what is no reply. Raises Lost."""
        deadline = time.monotonic() + self.wait
        lines: list[bytes] = []
        size = 0
        while size < MAX_REPLY:
            line = self._line(deadline)
            size += len(line)
            code, more = line[:3], line[3:4] == b"-"
            if not (code.isdigit() and len(code) == 3 and (more or line[3:4] in (b" ", b""))):
                return -1, line
            lines.append(line[4:].strip())
            if not more:
                return int(code), b"\n".join(lines)
        self.close()
        return -1, b"(a reply without an end)"

    def _line(self, deadline: float) -> bytes:
        while b"\n" not in self._unread and len(self._unread) < MAX_REPLY:
            self._unread += self._more(deadline)
        line, _, self._unread = self._unread.partition(b"\n")
        return line.rstrip(b"\r")

    def _more(self, deadline: float) -> bytes:
        if self.sock is None:
            raise Lost("not connected", sent_all=True)
        try:
            # At least a moment: 0 would mean "do not block".
            self.sock.settimeout(max(deadline - time.monotonic(), 0.001))
            chunk = self.sock.recv(4096)
        except OSError as error:
            self.close()
            raise Lost(reason(error), sent_all=True) from error
        if not chunk:
            self.close()
            raise Lost("the server closed the connection", sent_all=True)
        return chunk

    def send_message_data(self, data: bytes) -> tuple[int, bytes]:
        """The octets after 354, dots doubled (RFC 5321 §4.5.2), and the answer to them. Raises Lost."""
        self.send(data.replace(b"\r\n.", b"\r\n..") + (b".\r\n" if data.endswith(b"\r\n") else b"\r\n.\r\n"))
        self.wait = self.timeouts.message
        try:
            return self.getreply()
        finally:
            self.wait = self.timeouts.reply

    def leave(self) -> None:
        """Says QUIT and closes; never raises."""
        self.wait = self.timeouts.quit
        with suppress(Lost, OSError):
            self.docmd("QUIT")
        self.close()


def _base64(octets: bytes) -> str:
    return base64.b64encode(octets).decode("ascii")
