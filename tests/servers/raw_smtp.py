"""A server on loopback that breaks SMTP's rules as a test tells it to."""

import contextlib
import select
import socket
import ssl
import threading
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import ClassVar, Self

Reply = bytes | None
# How long to wait for more commands before those that have come are answered together.
PACKET = 0.05


class RawServer:
    """Speaks just what it is told, whatever the client says: for what no proper server would send.

    `script` maps a verb ("CONNECT", "EHLO", "MAIL", …, "." for the end of the data) to the octets of its
    reply, b"" for none, None to close the connection, or a function of the command's line that returns one
    of these. Verbs not named get `ordinary` replies.
    With `hangs_up_within_data` it resets the connection soon after the data has begun; after the reply to
    the verb `hangs_up_after` it closes it. With `tls` it begins TLS after its reply to STAR(TTLS).
    `in_one_packet`: commands that came together are answered together.
    `verbs` is what was said, `data` what came between DATA and the dot.
    """

    ordinary: ClassVar[dict[str, Reply]] = {
        "CONNECT": b"220 mx.example.test ESMTP\r\n",
        "EHLO": b"250 mx.example.test\r\n",
        "STAR": b"220 go\r\n",
        "DATA": b"354 go on\r\n",
        "QUIT": b"221 bye\r\n",
    }

    def __init__(
        self,
        script: Mapping[str, "Reply | Callable[[str], Reply]"],
        *,
        hangs_up_within_data: bool = False,
        hangs_up_after: str = "",
        tls: ssl.SSLContext | None = None,
        in_one_packet: bool = False,
    ) -> None:
        self.tls, self.in_one_packet = tls, in_one_packet
        self.hangs_up_within_data, self.hangs_up_after = hangs_up_within_data, hangs_up_after
        self.script = {**self.ordinary, **script}
        self.verbs: list[str] = []
        self.data: list[bytes] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._connection: socket.socket | None = None
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self.port = self._listener.getsockname()[1]
        self.url = f"smtp://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for each in (self._listener, self._connection):
            if each is not None:
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(5)

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self._connection = connection
                with contextlib.suppress(OSError), connection:
                    connection.settimeout(20)
                    self._converse(_Lines(connection))

    def _converse(self, lines: "_Lines") -> None:
        verb, line, owed = "CONNECT", "", b""
        while True:
            self.verbs.append(verb)
            reply = self._reply(verb, line)
            owed += reply or b""
            ends = reply is None or verb == self.hangs_up_after
            if ends or not (self.in_one_packet and lines.more_within(PACKET)):
                lines.connection.sendall(owed)
                owed = b""
            if reply is None or ends:
                # Shut down first: the data not yet read would make close() a reset at once.
                lines.connection.shutdown(socket.SHUT_RDWR)
                return
            if verb == "STAR" and self.tls:
                lines = _Lines(self.tls.wrap_socket(lines.connection, server_side=True))
            if verb == "DATA" and reply.startswith(b"354"):
                verb, line = ".", ""
                if not self._take(lines):
                    return
                continue
            said = lines.next()
            if not said:
                return
            verb, line = said[:4].strip().upper().decode("ascii", "replace"), said.decode("ascii", "replace")

    def _reply(self, verb: str, line: str) -> Reply:
        scripted = self.script.get(verb, b"250 ok\r\n")
        return scripted(line) if callable(scripted) else scripted

    def _take(self, lines: "_Lines") -> bool:
        """The data, up to its dot. False when it does not come to that."""
        taken = b""
        while (line := lines.next()) not in (b".\r\n", b""):
            if self.hangs_up_within_data:
                return False
            taken += line
        self.data.append(taken)
        return bool(line)


class _Lines:
    """What comes in, by lines."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection, self._unread = connection, b""

    def next(self) -> bytes:
        """A line with its end; b"" when there is none any more."""
        while b"\n" not in self._unread:
            chunk = self.connection.recv(65536)
            if not chunk:
                return b""
            self._unread += chunk
        line, end, self._unread = self._unread.partition(b"\n")
        return line + end

    def more_within(self, seconds: float) -> bool:
        return bool(self._unread or select.select([self.connection], [], [], seconds)[0])
