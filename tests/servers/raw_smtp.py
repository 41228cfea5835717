"""A server on loopback that breaks SMTP's rules as a test tells it to."""

import contextlib
import socket
import ssl
import threading
from collections.abc import Mapping
from types import TracebackType
from typing import ClassVar, Self


class RawServer:
    """Speaks just what it is told, whatever the client says: for what no proper server would send.

    `script` maps a verb ("CONNECT", "EHLO", "MAIL", …, "." for the end of the data) to the octets of its
    reply, b"" for none, or None to close the connection. Verbs not named get `ordinary` replies.
    With `hangs_up_within_data` it resets the connection soon after the data has begun.
    With `tls` it begins TLS after its reply to STAR(TTLS).
    """

    ordinary: ClassVar[dict[str, bytes | None]] = {
        "CONNECT": b"220 mx.example.test ESMTP\r\n",
        "EHLO": b"250 mx.example.test\r\n",
        "DATA": b"354 go on\r\n",
        "QUIT": b"221 bye\r\n",
    }

    def __init__(
        self,
        script: Mapping[str, bytes | None],
        *,
        hangs_up_within_data: bool = False,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.tls = tls
        self.hangs_up_within_data = hangs_up_within_data
        self.script = {**self.ordinary, **script}
        self.verbs: list[str] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self.url = f"smtp://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(5)

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                with contextlib.suppress(OSError), connection:
                    connection.settimeout(20)
                    self._converse(connection)

    def _converse(self, connection: socket.socket) -> None:
        lines, in_data = connection.makefile("rb"), False
        verb = "CONNECT"
        while True:
            self.verbs.append(verb)
            reply = self.script.get(verb, b"250 ok\r\n")
            if reply is None:
                # Shut down first: the data not yet read would make close() a reset at once.
                connection.shutdown(socket.SHUT_RDWR)
                return
            connection.sendall(reply)
            if verb == "STAR" and self.tls:
                connection = self.tls.wrap_socket(connection, server_side=True)
                lines = connection.makefile("rb")
            in_data = verb == "DATA" and reply.startswith(b"354")
            line = lines.readline(65536)
            if in_data and self.hangs_up_within_data:
                return
            while in_data and line not in (b".\r\n", b""):
                line = lines.readline(65536)
            if not line:
                return
            verb = "." if in_data else line[:4].strip().upper().decode("ascii", "replace")
