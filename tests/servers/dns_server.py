"""Name server on loopback, over UDP and TCP, that knows only a test's records.

with DnsServer({"example.org": {"TXT": ["v=spf1 -all"]}}) as dns:
settings.DNS_SERVERS = [dns.address]
"""

import socket
import socketserver
import threading
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdataclass
import dns.rdatatype
import dns.rrset

Zone = Mapping[str, Mapping[str, Sequence[str]]]
# Limit of a datagram without EDNS; longer responses use TCP.
DATAGRAM = 512
TRIES = 50
SILENT = "(silent)"
BROKEN = "(broken)"


class DnsServer:
    """DNS server; `records` maps names to types to texts.

    The type SILENT gets no response, BROKEN gets SERVFAIL.
    """

    def __init__(self, records: Zone | None = None) -> None:
        self.records: dict[str, dict[str, list[str]]] = {}
        for name, types in (records or {}).items():
            for kind, texts in types.items():
                self.say(name, kind, *texts)
        self.asked: list[tuple[str, str]] = []
        self._servers: list[Any] = []

    def say(self, name: str, kind: str, *texts: str) -> None:
        """Replace the records of a name and type; without `texts`, remove them."""
        types = self.records.setdefault(name.lower(), {})
        types[kind] = list(texts)

    def forget(self, name: str) -> None:
        self.records.pop(name.lower(), None)

    @property
    def address(self) -> tuple[str, int]:
        return self._address

    def __enter__(self) -> Self:
        self._servers = self._bound()
        self._address = ("127.0.0.1", int(self._servers[0].server_address[1]))
        for server in self._servers:
            server.daemon_threads = True
            threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()

    def _bound(self) -> list[Any]:
        """Bind UDP and TCP to one port. Retries, as a port free for UDP may be in use for TCP."""
        for _ in range(TRIES):
            udp = socketserver.ThreadingUDPServer(("127.0.0.1", 0), self._handler(_Datagram))
            try:
                return [udp, socketserver.ThreadingTCPServer(udp.server_address, self._handler(_Stream))]
            except OSError:
                udp.server_close()
        raise OSError("No port is free for both UDP and TCP.")

    def _handler(self, base: type[Any]) -> type[Any]:
        return type(base.__name__, (base,), {"zone": self})

    def answer(self, wire: bytes) -> dns.message.Message | None:
        """Return the answer to a query, or None to stay silent."""
        query = dns.message.from_wire(wire)
        question = query.question[0]
        name, kind = str(question.name).rstrip(".").lower(), dns.rdatatype.to_text(question.rdtype)
        self.asked.append((name, kind))
        types = self.records.get(name, self.records.get("*"))
        answer = dns.message.make_response(query)
        answer.flags |= dns.flags.RA
        if types is not None and SILENT in types:
            return None
        if types is not None and BROKEN in types:
            answer.set_rcode(dns.rcode.SERVFAIL)
        elif types is None and name:
            answer.set_rcode(dns.rcode.NXDOMAIN)
        elif types and types.get(kind):
            texts = [_quoted(text) if kind == "TXT" else text for text in types[kind]]
            answer.answer.append(dns.rrset.from_text_list(question.name, 60, "IN", kind, texts))
        return answer


def _quoted(text: str) -> str:
    """Quote a TXT record as strings of 255 octets."""
    escaped = [
        text[at : at + 255].replace("\\", "\\\\").replace('"', '\\"') for at in range(0, len(text), 255)
    ]
    return " ".join(f'"{piece}"' for piece in escaped) or '""'


class _Datagram(socketserver.BaseRequestHandler):
    zone: DnsServer

    def handle(self) -> None:
        wire, sock = self.request
        answer = self.zone.answer(wire)
        if answer is None:
            return
        full = answer.to_wire()
        if len(full) > DATAGRAM:
            answer.answer.clear()
            answer.flags |= dns.flags.TC
            full = answer.to_wire()
        sock.sendto(full, self.client_address)


class _Stream(socketserver.BaseRequestHandler):
    zone: DnsServer

    def handle(self) -> None:
        length = int.from_bytes(self._exactly(2))
        answer = self.zone.answer(self._exactly(length))
        if answer is not None:
            full = answer.to_wire()
            self.request.sendall(len(full).to_bytes(2) + full)

    def _exactly(self, count: int) -> bytes:
        data = b""
        sock: socket.socket = self.request
        while len(data) < count and (more := sock.recv(count - len(data))):
            data += more
        return data
