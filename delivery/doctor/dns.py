"""DNS queries: limited in time, never within a transaction."""

from collections.abc import Sequence

import dns.exception
import dns.nameserver
import dns.rdatatype
import dns.resolver
import dns.reversename

from common.transactions import forbid_open_transaction
from delivery.doctor.findings import DnsAnswer, DnsStatus

# Per query, for all servers.
DNS_SECONDS = 4.0


class NoResolver(OSError):
    """No name server answers."""


class Dns:
    """Thread-safe resolver, the system's or with `servers` (address and port)."""

    def __init__(self, servers: Sequence[tuple[str, int]] = (), *, seconds: float = DNS_SECONDS) -> None:
        """Raise NoResolver if the system has none."""
        try:
            self._resolver = dns.resolver.Resolver(configure=not servers)
        except dns.exception.DNSException as error:
            raise NoResolver(_no_resolver("this machine has none configured")) from error
        if servers:
            self._resolver.nameservers = [dns.nameserver.Do53Nameserver(*server) for server in servers]
        self._resolver.lifetime = seconds
        self._resolver.timeout = seconds / 2
        self._resolver.cache = dns.resolver.LRUCache()

    def __call__(self, name: str, kind: str) -> DnsAnswer:
        forbid_open_transaction()
        try:
            answer = self._resolver.resolve(name, kind, search=False, raise_on_no_answer=False)
        except dns.resolver.NXDOMAIN:
            return DnsAnswer(DnsStatus.NO_NAME)
        except (dns.exception.DNSException, OSError, ValueError):
            # Invalid names raise UnicodeError, a ValueError.
            return DnsAnswer(DnsStatus.FAILED)
        records = []
        for record in answer.rrset or ():
            if record.rdtype == dns.rdatatype.TXT:
                records.append(b"".join(record.strings).decode("utf-8", "replace"))
            elif record.rdtype == dns.rdatatype.MX:
                records.append(f"{record.preference} {str(record.exchange).rstrip('.') or '.'}")
            else:
                records.append(str(record).rstrip("."))
        return DnsAnswer(DnsStatus.FOUND, tuple(sorted(records))) if records else DnsAnswer(DnsStatus.NONE)

    def be_reachable(self) -> None:
        """Raise NoResolver if no server answers."""
        forbid_open_transaction()
        try:
            self._resolver.resolve(".", "NS", search=False, raise_on_no_answer=False)
        except dns.resolver.NXDOMAIN:
            return
        except dns.resolver.NoNameservers as error:
            # Errors are (server, tcp, port, exception, response).
            if not any(each[4] is not None for each in error.kwargs.get("errors", ())):
                raise NoResolver(_no_resolver("it refused the query")) from error
        except (dns.exception.DNSException, OSError) as error:
            raise NoResolver(_no_resolver("no answer within a few seconds")) from error


def reverse_name(address: str) -> str:
    """Return an address's PTR name. Raises ValueError."""
    try:
        return str(dns.reversename.from_address(address)).rstrip(".")
    except dns.exception.DNSException as error:
        raise ValueError(f"{address} is no IP address.") from error


def _no_resolver(why: str) -> str:
    return (
        f"No name server responds here ({why}), so DNS can’t be checked. Run this on "
        "the machine that sends, or name a server in DNS_SERVERS, such as 9.9.9.9."
    )
