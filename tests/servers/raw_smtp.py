"""SMTP server on loopback that breaks the protocol as scripted.

SMTP servers on loopback with odd timing: they drip, stop reading, or record chunks.
"""

import contextlib
import select
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, ClassVar, Self

Reply = bytes | None
# How long to wait for more commands before answering them together.
PACKET = 0.05


class RawServer:
    """Server that sends exactly the scripted octets, valid or not.

    `script` maps a verb ("CONNECT", "EHLO", "MAIL", …, "." for the end of the data) to the octets of its
    reply, b"" for none, None to close the connection, or a function of the command line that returns one of
    these. Other verbs get `ordinary` replies.
    `hangs_up_within_data` resets the connection soon after the data has begun; `hangs_up_after` closes it
    after the reply to that verb. `tls` starts TLS after the reply to STAR(TTLS).
    `in_one_packet`: commands that arrived together are answered together.
    `verbs` are the commands received, `data` the octets between DATA and the dot.
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
        patience: float = 20,
    ) -> None:
        self.tls, self.in_one_packet, self.patience = tls, in_one_packet, patience
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
                    connection.settimeout(self.patience)
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
                # Shut down first: with unread data, close() would reset the connection at once.
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
        """Read the data up to its dot; return False if the connection ends before."""
        taken = b""
        while (line := lines.next()) not in (b".\r\n", b""):
            if self.hangs_up_within_data:
                return False
            taken += line
        self.data.append(taken)
        return bool(line)


class _Lines:
    """Reader of lines from a connection."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection, self._unread = connection, b""

    def next(self) -> bytes:
        """Return a line with its ending; b"" at the end of the stream."""
        while b"\n" not in self._unread:
            chunk = self.connection.recv(65536)
            if not chunk:
                return b""
            self._unread += chunk
        line, end, self._unread = self._unread.partition(b"\n")
        return line + end

    def more_within(self, seconds: float) -> bool:
        return bool(self._unread or select.select([self.connection], [], [], seconds)[0])


class OddServer(RawServer):
    """RawServer that records in `chunks` what each read returned.

    `pause` sends every octet separately, that many seconds apart. `deaf` stops reading during the data, with
    a small receive buffer.
    """

    def __init__(self, script: Any, *, pause: float = -1, deaf: bool = False, **options: Any) -> None:
        super().__init__(script, **options)
        self.pause, self.deaf = pause, deaf
        self.chunks: list[bytes] = []
        self._over = threading.Event()
        if deaf:
            self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        super().__exit__(kind, error, trace)

    def slowly(self, pause: float, reply: Reply) -> Reply:
        """Return the reply, and send this and later ones with such pauses."""
        self.pause = pause
        return reply

    def _converse(self, lines: Any) -> None:
        lines.connection = _Tap(lines.connection, self)
        super()._converse(lines)

    def _take(self, lines: Any) -> bool:
        if not self.deaf:
            return super()._take(lines)
        self._over.wait(20)
        return False


class _Tap:
    def __init__(self, connection: socket.socket, server: OddServer) -> None:
        self._connection, self._server = connection, server
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def recv(self, size: int) -> bytes:
        chunk = self._connection.recv(size)
        self._server.chunks.append(chunk)
        return chunk

    def sendall(self, octets: bytes) -> None:
        if self._server.pause < 0:
            self._connection.sendall(octets)
            return
        for octet in octets:
            self._connection.sendall(bytes([octet]))
            time.sleep(self._server.pause)
