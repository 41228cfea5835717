"""Minimal IMAP and POP3 servers on loopback for reading bounces.

with ImapServer([b"mail", ...]) as server:   # or Pop3Server
settings.BOUNCE_URL = server.url
...
assert server.seen == {1}
"""

import contextlib
import re
import socket
import ssl
import threading
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Self

USER, PASSWORD = "bounces", "p&ss word"
IN_URL = "bounces:p%26ss%20word"


class MailServer:
    """Server of mails numbered from 1.

    Disconnects at the command `breaks_at` and stops responding at `silent_at`.
    """

    scheme = ""

    def __init__(
        self,
        mails: Sequence[bytes] = (),
        *,
        context: ssl.SSLContext | None = None,
        breaks_at: str = "",
        silent_at: str = "",
    ) -> None:
        self.mails = dict(enumerate(mails, 1))
        self.seen: set[int] = set()
        self.commands: list[str] = []
        self.context, self.breaks_at, self.silent_at = context, breaks_at, silent_at
        self._over = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve, daemon=True)

    @property
    def url(self) -> str:
        host = "localhost" if self.context else "127.0.0.1"
        scheme = f"{self.scheme}s" if self.context else self.scheme
        return f"{scheme}://{IN_URL}@{host}:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(5)

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                with contextlib.suppress(OSError), connection:
                    connection.settimeout(10)
                    self._converse(connection)

    def _converse(self, connection: socket.socket) -> None:
        if self.context:
            connection = self.context.wrap_socket(connection, server_side=True)
        lines = connection.makefile("rb")
        connection.sendall(self.greeting())
        while line := lines.readline(65536):
            words = line.decode().strip()
            self.commands.append(words)
            if self.breaks_at and self.breaks_at in words:
                return
            if self.silent_at and self.silent_at in words:
                self._over.wait(10)
                return
            for answer in self.answers(words):
                connection.sendall(answer)
            if self.is_end(words):
                return

    def greeting(self) -> bytes:
        raise NotImplementedError

    def answers(self, words: str) -> Iterator[bytes]:
        raise NotImplementedError

    def is_end(self, words: str) -> bool:
        raise NotImplementedError


class ImapServer(MailServer):
    scheme = "imap"

    def greeting(self) -> bytes:
        return b"* OK ready\r\n"

    def is_end(self, words: str) -> bool:
        return "LOGOUT" in words

    def answers(self, words: str) -> Iterator[bytes]:
        tag, _, command = words.partition(" ")
        told = self._told(command)
        if told is None:
            yield f"{tag} NO that is not so\r\n".encode()
            return
        yield from told
        yield f"{tag} OK done\r\n".encode()

    def _told(self, command: str) -> list[bytes] | None:
        if command.startswith("CAPABILITY"):
            return [b"* CAPABILITY IMAP4rev1\r\n"]
        if command.startswith("LOGIN"):
            return [] if command == f'LOGIN "{USER}" "{PASSWORD}"' else None
        if command.startswith("SELECT"):
            return [f"* {len(self.mails)} EXISTS\r\n".encode()] if '"INBOX"' in command else None
        if command.startswith("UID SEARCH UNSEEN"):
            numbers = " ".join(str(number) for number in self.mails if number not in self.seen)
            return [f"* SEARCH {numbers}\r\n".encode()]
        if match := re.match(r"UID FETCH (\d+) \(BODY\.PEEK\[\]<0\.(\d+)>\)", command):
            return self._fetched(int(match[1]), int(match[2]))
        if match := re.match(r"UID STORE (\d+) \+FLAGS\.SILENT \(\\Seen\)", command):
            self.seen.add(int(match[1]))
            return []
        return [b"* BYE\r\n"] if command == "LOGOUT" else None

    def _fetched(self, number: int, most: int) -> list[bytes]:
        raw = self.mails[number][:most]
        head = f"* {number} FETCH (UID {number} BODY[]<0> {{{len(raw)}}}\r\n".encode()
        return [head, raw, b")\r\n"]


class Pop3Server(MailServer):
    scheme = "pop3"

    def __init__(self, mails: Sequence[bytes] = (), **options: object) -> None:
        super().__init__(mails, **options)  # type: ignore[arg-type]
        self._deleted: set[int] = set()

    def greeting(self) -> bytes:
        # Deletions take effect at QUIT (RFC 1939 §6).
        self._deleted = set()
        return b"+OK ready\r\n"

    def is_end(self, words: str) -> bool:
        return words == "QUIT"

    def answers(self, words: str) -> Iterator[bytes]:
        command, _, argument = words.partition(" ")
        if command == "USER":
            yield b"+OK\r\n"
        elif command == "PASS":
            yield b"+OK\r\n" if argument == PASSWORD else b"-ERR wrong password\r\n"
        elif command == "LIST":
            sizes = [f"{number} {len(raw)}\r\n".encode() for number, raw in self.mails.items()]
            yield b"".join([b"+OK\r\n", *sizes, b".\r\n"])
        elif command == "RETR":
            raw = b"".join(line + b"\r\n" for line in self.mails[int(argument)].splitlines())
            yield b"+OK\r\n" + re.sub(rb"(?m)^\.", b"..", raw) + b".\r\n"
        elif command == "DELE":
            self._deleted.add(int(argument))
            yield b"+OK\r\n"
        else:
            self.mails = {n: raw for n, raw in self.mails.items() if n not in self._deleted}
            yield b"+OK\r\n"
