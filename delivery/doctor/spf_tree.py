"""Parser of SPF records (RFC 7208 §4.5, §4.6, §12) that follows includes.

Counts lookups and finds who may send. Pure if the lookup function is.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from delivery.doctor.findings import DnsAnswer, DnsStatus, Lookup

SPF_VERSION = "v=spf1"
ASKING = ("include", "a", "mx", "ptr", "exists")
MECHANISMS = ("all", *ASKING, "ip4", "ip6")
LONGEST_SPF_RECORD = 4_000
_MECHANISM = re.compile(r"([+?~-])?([a-z0-9]+)(?:[:](.*?))?(?:/(\d{1,2}))?(?://(\d{1,3}))?", re.IGNORECASE)
_MODIFIER = re.compile(r"([A-Za-z][A-Za-z0-9._-]*)=(.*)")
# RFC 7208 §4.6.4.
MOST_LOOKUPS = 10
MOST_VOID = 2
# Most queries for one domain.
MOST_QUESTIONS = 60
DEEPEST = 12
RESULTS = {"+": "pass", "-": "fail", "~": "softfail", "?": "neutral"}


@dataclass(frozen=True, slots=True)
class Term:
    """Mechanism: `+` pass, `-` fail, `~` softfail, `?` neutral. `network`: of ip4 and ip6."""

    qualifier: str
    name: str
    value: str = ""
    prefix4: int = 32
    prefix6: int = 128
    network: IPv4Network | IPv6Network | None = None

    @property
    def has_macro(self) -> bool:
        return "%" in self.value


@dataclass(frozen=True, slots=True)
class Spf:
    """Record. Receivers may ignore one with `problems` (permerror, §4.6)."""

    terms: tuple[Term, ...] = ()
    redirect: str = ""
    problems: tuple[str, ...] = ()

    @property
    def catch_all(self) -> Term | None:
        return next((term for term in self.terms if term.name == "all"), None)


def spf_records(texts: Sequence[str]) -> list[str]:
    """Return the SPF records of TXT records (§4.5)."""
    return [
        text for text in texts if text.lower() == SPF_VERSION or text.lower().startswith(f"{SPF_VERSION} ")
    ]


def read_spf(text: str) -> Spf:
    """Parse a record, with mistakes in `problems`. Raises nothing."""
    terms: list[Term] = []
    redirects: list[str] = []
    wrong: list[str] = []
    for word in text[:LONGEST_SPF_RECORD].split()[1:]:
        modifier = _MODIFIER.fullmatch(word)
        if modifier:
            if modifier[1].lower() == "redirect":
                redirects.append(modifier[2])
            continue
        term = _term(word)
        if isinstance(term, Term):
            terms.append(term)
        else:
            wrong.append(term)
    if len(redirects) > 1:
        wrong.append("redirect= appears more than once")
    if redirects and not redirects[0]:
        wrong.append("redirect= names no domain")
    return Spf(tuple(terms), redirects[0] if redirects else "", tuple(wrong))


def _term(word: str) -> Term | str:
    """Return the mechanism or a mistake."""
    shown = f"“{word[:80]}”"
    if word.lstrip("+-~?").lower().startswith(("ip4:", "ip6:")):
        qualifier = word[0] if word[0] in "+-~?" else "+"
        name, _, value = word.lstrip("+-~?").partition(":")
        try:
            network = ip_network(value, strict=False)
        except ValueError:
            return f"{shown} holds no IP address"
        if network.version != int(name[2]):
            return f"{shown} has an address of the wrong kind"
        return Term(qualifier, name.lower(), value, network=network)
    match = _MECHANISM.fullmatch(word)
    name = match[2].lower() if match else ""
    if match is None or name not in MECHANISMS:
        return f"{shown} isn’t a mechanism"
    value, prefix4, prefix6 = match[3] or "", int(match[4] or 32), int(match[5] or 128)
    if name in ("include", "exists", "ip4", "ip6") and not value:
        return f"{shown} has nothing after the colon"
    if name == "all" and value:
        return f"{shown} has something after “all”"
    if prefix4 > 32 or prefix6 > 128:
        return f"{shown} has a prefix that is too long"
    return Term(match[1] or "+", name, value.rstrip(".").lower(), prefix4, prefix6)


@dataclass(slots=True)
class Node:
    """Domain's record. `found`: its SPF records verbatim. `below`: nodes by number of term."""

    domain: str
    status: DnsStatus
    found: tuple[str, ...] = ()
    spf: Spf = field(default_factory=Spf)
    below: dict[int, "Node"] = field(default_factory=dict)
    addresses: dict[int, tuple[str, ...]] = field(default_factory=dict)
    redirect: "Node | None" = None
    # Names without an address (§4.6.4: at most two).
    void: list[str] = field(default_factory=list)
    # Refers to a domain above.
    loops: bool = False

    def nodes(self) -> Iterator["Node"]:
        yield self
        for child in (*self.below.values(), *((self.redirect,) if self.redirect else ())):
            yield from child.nodes()

    @property
    def lookups(self) -> int:
        """Return the DNS lookups of a receiver that evaluates all terms."""
        own = sum(term.name in ASKING for term in self.spf.terms) + (self.redirect is not None)
        below: list[Node] = [*self.below.values(), *((self.redirect,) if self.redirect else ())]
        return own + sum(child.lookups for child in below)

    @property
    def failed(self) -> list[str]:
        """Return domains without any answer."""
        return [node.domain for node in self.nodes() if node.status is DnsStatus.FAILED]


class Tree:
    def __init__(self, lookup: Lookup) -> None:
        self._lookup, self._left = lookup, MOST_QUESTIONS

    def node(self, domain: str, above: tuple[str, ...] = ()) -> Node:
        """Return a domain's record and what it refers to. Raises nothing."""
        answer = self._ask(domain, "TXT")
        node = Node(domain, answer.status, tuple(spf_records(answer.records)))
        if domain in above or len(above) >= DEEPEST:
            node.loops, node.found = True, ()
        if len(node.found) != 1:
            return node
        node.spf = read_spf(node.found[0])
        path = (*above, domain)
        for number, term in enumerate(node.spf.terms):
            name = term.value or node.domain
            if term.has_macro:
                continue
            if term.name == "include":
                node.below[number] = self.node(name, path)
            elif term.name == "a":
                node.addresses[number] = self._both(name)
                if not node.addresses[number]:
                    node.void.append(name)
            elif term.name == "mx":
                mx = self._ask(name, "MX")
                if mx.status in (DnsStatus.NONE, DnsStatus.NO_NAME):
                    node.void.append(name)
                hosts = [record.partition(" ")[2] for record in mx.records[:MOST_LOOKUPS]]
                node.addresses[number] = tuple(
                    address for host in hosts if host != "." for address in self._both(host)
                )
        if node.spf.redirect and node.spf.catch_all is None and "%" not in node.spf.redirect:
            node.redirect = self.node(node.spf.redirect.rstrip(".").lower(), path)
        return node

    def _both(self, name: str) -> tuple[str, ...]:
        return (*self._ask(name, "A").records, *self._ask(name, "AAAA").records)

    def _ask(self, name: str, kind: str) -> DnsAnswer:
        self._left -= 1
        return self._lookup(name, kind) if self._left >= 0 else DnsAnswer(DnsStatus.FAILED)


def check_host(node: Node, address: str, *, lenient: bool = False) -> str:
    """Return pass, fail, softfail, neutral, none or permerror (§2.6).

    `lenient` ignores broken includes, and an “all” that allows everybody.
    """
    if not node.found:
        return "permerror" if node.loops else "none"
    if len(node.found) > 1 or node.spf.problems:
        return "permerror"
    sender = ip_address(address)
    for number, term in enumerate(node.spf.terms):
        if term.name == "include" and number in node.below:
            inside = check_host(node.below[number], address, lenient=lenient)
            if inside in ("none", "permerror") and not lenient:
                return "permerror"
            matches = inside == "pass"
        elif term.name == "all":
            matches = True
        elif term.network is not None:
            matches = sender in term.network
        else:
            prefix = term.prefix4 if sender.version == 4 else term.prefix6
            alike = [
                each for each in node.addresses.get(number, ()) if (":" in each) == (sender.version == 6)
            ]
            matches = any(sender in ip_network(f"{each}/{prefix}", strict=False) for each in alike)
        if matches and not (lenient and term.name == "all" and term.qualifier == "+"):
            return RESULTS[term.qualifier]
    return check_host(node.redirect, address, lenient=lenient) if node.redirect else "neutral"
