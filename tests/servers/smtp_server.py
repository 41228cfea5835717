"""A real SMTP server on loopback that keeps what it takes and answers as a test tells it to.

    with SmtpServer() as server:
        settings.EMAIL_URL = server.url
        server.answer("rcpt", "450 4.2.0 try later", recipient="a@example.test", times=1)
        ...
        assert server.recipients == ["a@example.test"]

Stages: "connect", "ehlo", "auth", "mail", "rcpt", "data" (the command), "message" (after the final dot)
and "taken" (the same, but the server has the message and keeps it).
An answer is a reply line, DROP (the connection is closed without one) or STALL (no reply ever comes).
A bad "connect" or "ehlo" has no recipient. Everything is thread-safe.
"""

import asyncio
import socket
import ssl
from types import TracebackType
from typing import Any, Self

from aiosmtpd.smtp import AuthResult

from tests.servers.smtp_protocol import ANYONE, DROP, STALL, Answer, Controller, Received, State

__all__ = ["DROP", "STALL", "Received", "SmtpServer"]


class SmtpServer:
    """See the module's text. `tls` is "", "starttls" or "implicit" and needs a server-side `context`;
    with `login` (user, password) the server asks for them. `delay` seconds pass before each acceptance.
    It `takes` so many connections at a time; more hear `full` (DROP: nothing), and are closed.
    `port` 0 takes a free one; name one to come back at the same place after a stop."""

    def __init__(
        self,
        *,
        port: int = 0,
        tls: str = "",
        context: ssl.SSLContext | None = None,
        login: tuple[str, str] | None = None,
        utf8: bool = True,
        delay: float = 0.0,
        size_limit: int = 33_554_432,
        takes: int | None = None,
        full: str = "421 4.7.0 Error: too many connections from 127.0.0.1",
    ) -> None:
        self.state = State(delay=delay, takes=takes, full=full)
        self.tls, self.login, self.port = tls, login, port
        self._options: dict[str, Any] = {"enable_SMTPUTF8": utf8, "data_size_limit": size_limit}
        if tls == "implicit":
            self._options["ssl_context"] = context
        elif tls == "starttls":
            self._options |= {"tls_context": context, "require_starttls": True}
        if login:
            self._options |= {"auth_required": True, "auth_require_tls": tls == "starttls"}
            self._options["authenticator"] = self._authenticate
        self._controller: Controller | None = None

    def _authenticate(
        self, server: Any, session: Any, envelope: Any, mechanism: str, data: Any
    ) -> AuthResult:
        given = (data.login.decode(), data.password.decode())
        return AuthResult(success=given == self.login, handled=False)

    def start(self) -> Self:
        listener = socket.create_server(("127.0.0.1", self.port))
        self.port = listener.getsockname()[1]
        self._controller = Controller(self.state, listener, **self._options)
        self._controller.start()
        return self

    def stop(self) -> None:
        """Closes the port and every open connection. A second call does nothing."""
        if self._controller:
            self._controller.stop()
            self._controller = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """The EMAIL_URL that leads here."""
        scheme = {"": "smtp", "starttls": "smtp+starttls", "implicit": "smtps"}[self.tls]
        login = f"{self.login[0]}:{self.login[1]}@" if self.login else ""
        return f"{scheme}://{login}127.0.0.1:{self.port}"

    def answer(self, stage: str, reply: str, *, recipient: str = ANYONE, times: int | None = None) -> None:
        """From now on answers so at that stage, to that recipient, that many times (None: always)."""
        if stage not in ("connect", "ehlo", "auth", "mail", "rcpt", "data", "message", "taken"):
            raise ValueError(f"no such stage: {stage}")
        with self.state.changed:
            self.state.answers.append(Answer(stage, reply, recipient.lower(), times))

    def forget_answers(self) -> None:
        with self.state.changed:
            self.state.answers.clear()

    @property
    def messages(self) -> list[Received]:
        with self.state.changed:
            return list(self.state.messages)

    @property
    def recipients(self) -> list[str]:
        """Who got a message, in the order of arrival; twice who got two."""
        return [message.recipient for message in self.messages]

    @property
    def connections(self) -> int:
        """How many were opened so far."""
        return self.state.connections

    @property
    def most_open(self) -> int:
        """The most connections that were open at one time."""
        return self.state.most_open

    @property
    def commands(self) -> list[str]:
        """The stages reached, in order."""
        with self.state.changed:
            return list(self.state.commands)

    def wait_for(self, count: int, timeout: float = 10.0) -> list[Received]:
        """The messages, as soon as there are `count`. Raises TimeoutError after `timeout` seconds."""
        with self.state.changed:
            if not self.state.changed.wait_for(lambda: len(self.state.messages) >= count, timeout):
                raise TimeoutError(f"{len(self.state.messages)} of {count} messages after {timeout} s")
            return list(self.state.messages)

    def wait_until_idle(self, timeout: float = 5.0) -> None:
        """Returns when no connection is open. Raises TimeoutError."""
        with self.state.changed:
            if not self.state.changed.wait_for(lambda: self.state.open == 0, timeout):
                raise TimeoutError(f"{self.state.open} connections still open after {timeout} s")

    def drop_connections(self) -> None:
        """Ends every open connection, as a server does that restarts; new ones are taken."""
        controller = self._controller
        assert controller is not None

        def close_all() -> None:
            for task in asyncio.all_tasks(controller.loop):
                task.cancel()

        controller.loop.call_soon_threadsafe(close_all)
        self.wait_until_idle()
