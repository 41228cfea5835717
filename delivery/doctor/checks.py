"""Checks of a From domain, the bounce domain or a mail route. Network, no database."""

import socket
import ssl
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from ipaddress import ip_address

from channels.email.dkim.keys import DkimRecord
from channels.email.session import CannotLogIn, probe_login
from channels.email.smtp_login import SmtpSettings
from common.program import MANAGE
from delivery.doctor.dkim import judge_key, judge_no_key
from delivery.doctor.dmarc import find_place, include_of, judge_alignment, judge_policy, judge_report_address
from delivery.doctor.dns import reverse_name
from delivery.doctor.findings import DoctorVerdict, Finding, Lookup
from delivery.doctor.hosts import NULL, PTR, judge_mx, judge_ptr
from delivery.doctor.server import SERVER, judge_server, look_at
from delivery.doctor.spf import INSTEAD, SPF, judge_record, judge_sender, proposal
from delivery.doctor.spf_tree import Tree

MOST_HOSTS = 10
SET_UP = "Set up email in the admin (“Email set-up”), or set EMAIL_URL. Then check again."
UNKNOWN_YET = "The SPF and DKIM records depend on who sends the emails, and no sender is set up yet."
LOGIN = "Login"
# Connecting a datagram socket sends nothing: it only selects our address.
SOMEWHERE = ("192.0.2.1", 9)


@dataclass(frozen=True, slots=True)
class DomainKey:
    """DKIM key without its private part."""

    domain: str
    algorithm: str
    record: DkimRecord
    is_active: bool


@dataclass(frozen=True, slots=True)
class FromDomain:
    """From domain with its accounts, return addresses' domain and keys."""

    domain: str
    accounts: tuple[str, ...]
    envelope: str
    keys: tuple[DomainKey, ...] = ()


@dataclass(frozen=True, slots=True)
class MailRoute:
    """Account and its target: an SMTP server, a service, or nothing.

    `own`: configured sending addresses. `is_ours`: the server is our organization's, so letters leave from
    its own addresses.
    """

    account: str
    target: object
    own: tuple[str, ...] = ()
    is_ours: bool = False
    trouble: str = ""

    @property
    def server(self) -> SmtpSettings | None:
        return self.target if isinstance(self.target, SmtpSettings) else None

    @property
    def name(self) -> str:
        return str(getattr(self.target, "name", "")) or "the mail server"

    @property
    def is_direct(self) -> bool:
        """Return whether letters leave from the server's addresses."""
        return bool(self.own) or self.is_here or self.is_ours

    @property
    def is_service(self) -> bool:
        """Return whether a provider has an API for letters."""
        return hasattr(self.target, "service")

    @property
    def is_mailbox(self) -> bool:
        return not (self.trouble or self.server or self.is_service)

    @property
    def is_here(self) -> bool:
        """Return whether the server is local, so letters leave from our address."""
        return self.server is not None and is_private(self.server.host)


def check_domain(sender: FromDomain, ways: Sequence[MailRoute], lookup: Lookup) -> list[Finding]:
    """Check SPF, DKIM, DMARC and MX. If nothing is sent, SPF and DKIM are unknown."""
    place = find_place(sender.domain, lookup)
    if all(way.is_mailbox for way in ways):
        unknown = Finding(SPF, sender.domain, "EMAIL_URL", DoctorVerdict.BETTER, UNKNOWN_YET, (), SET_UP)
        policy = [*judge_policy(place), *judge_report_address(place, lookup)]
        return [unknown, *policy, _mx(sender.domain, lookup, "replies")]
    findings = _spf(sender, ways, lookup)
    by_us = any(way.server for way in ways)
    if by_us:
        findings += [
            judge_key(
                key.record,
                domain=sender.domain,
                algorithm=key.algorithm,
                is_active=key.is_active,
                answer=lookup(key.record.name, "TXT"),
            )
            for key in sender.keys
        ]
    signers = sorted({key.domain for key in sender.keys if key.is_active})
    if not by_us or not signers:
        findings.append(
            judge_no_key(sender.domain, signer=", ".join(dict.fromkeys(way.name for way in ways)))
        )
    findings += [*judge_policy(place), *judge_report_address(place, lookup)]
    if all(way.server for way in ways):
        findings += judge_alignment(
            place, envelope=sender.envelope, signers=signers, others_may_sign=not signers
        )
    findings.append(_mx(sender.domain, lookup, "replies"))
    return findings


def check_bounces(domain: str, lookup: Lookup) -> list[Finding]:
    return [_mx(domain, lookup, "bounces")]


def check_way(
    way: MailRoute, lookup: Lookup, *, now: datetime, context: ssl.SSLContext | None = None
) -> list[Finding]:
    """Check an account's server: encryption, login, names of addresses."""
    if way.trouble:
        return [Finding(SERVER, way.account, "EMAIL_URL", DoctorVerdict.WRONG, way.trouble, (), SET_UP)]
    if way.server is None and way.is_service:
        says = f"Emails are sent through the API of {way.name}, which runs its own servers."
        return [Finding(SERVER, way.name, "EMAIL_URL", DoctorVerdict.GOOD, says)]
    if way.server is None:
        says = "Emails are kept in the mailbox here and not sent, so there is no server to check."
        return [Finding(SERVER, way.account, "EMAIL_URL", DoctorVerdict.BETTER, says, (), SET_UP)]
    found = judge_server(way.server, look_at(way.server, context=context), is_here=way.is_here, now=now)
    if way.server.user and all(finding.verdict is not DoctorVerdict.WRONG for finding in found):
        looked = f"AUTH at {way.server.name}"
        try:
            said = probe_login(way.server, context=context)
        except CannotLogIn as error:
            change = "Check the user and password (“Email set-up”, or EMAIL_URL)."
            found.append(Finding(LOGIN, way.server.name, looked, DoctorVerdict.WRONG, str(error), (), change))
        else:
            found.append(Finding(LOGIN, way.server.name, looked, DoctorVerdict.GOOD, said))
    return [*found, *_ptr(way, lookup)]


def _spf(sender: FromDomain, ways: Sequence[MailRoute], lookup: Lookup) -> list[Finding]:
    servers = [way for way in ways if way.server]
    services = ", ".join(way.name for way in ways if way.is_service)
    if services and not servers:
        says = f"Return addresses belong to {services}, so its SPF record counts, not yours."
        change = (
            f"Verify {services} with {sender.domain}. The service then signs emails (DKIM), and they pass"
            " DMARC."
        )
        return [Finding(SPF, sender.domain, "EMAIL_URL", DoctorVerdict.GOOD, says, (), change)]
    node = Tree(lookup).node(sender.envelope)
    leaving = {way.account: route_addresses(way, lookup) for way in servers}
    mechanisms = [each for way in servers for each in _mechanisms(way, leaving[way.account])]
    suggestion = " ".join(["v=spf1", *(dict.fromkeys(mechanisms) or ["mx"]), "~all"])
    found = judge_record(node, suggestion=suggestion)
    lacking: list[str] = []
    for way in servers:
        addresses, about = leaving[way.account], node.domain
        if way.is_here and not addresses:
            says = (
                "The public address that emails are sent from is unknown, so it can’t be "
                "checked against the record."
            )
            change = f"Name it: {MANAGE} check_mail --sending-address 192.0.2.1"
            found.append(Finding(SPF, about, f"TXT {about}", DoctorVerdict.BETTER, says, node.found, change))
            continue
        judged = judge_sender(
            node, addresses=addresses, server=way.name, is_own=way.is_direct, provider=_include(way)
        )
        if judged is not None:
            found.append(judged)
            lacking += _mechanisms(way, addresses) if judged.verdict is DoctorVerdict.WRONG else ()
    # One record to publish, with the last finding that needs it.
    asking = [at for at, each in enumerate(found) if each.change.startswith((INSTEAD, "Remove include:"))]
    if asking and len(node.found) == 1:
        found[asking[-1]] = replace(found[asking[-1]], publish=proposal(node, lacking))
    return found


def _mechanisms(way: MailRoute, addresses: Sequence[str]) -> list[str]:
    """Return SPF mechanisms for the route."""
    if include := _include(way):
        return [f"include:{include}"]
    if addresses:
        return [f"ip{ip_address(each).version}:{each}" for each in addresses]
    return [f"a:{way.server.host}"] if way.server and not way.is_here else []


def _include(way: MailRoute) -> str:
    return include_of(way.server.host) if way.server else ""


def route_addresses(way: MailRoute, lookup: Lookup) -> tuple[str, ...]:
    """Return the addresses that letters leave from, if known."""
    if way.own or way.server is None:
        return way.own
    if way.is_here:
        return public_address()
    host = way.server.host
    with suppress(ValueError):
        return (str(ip_address(host)),)
    return (*lookup(host, "A").records, *lookup(host, "AAAA").records)


def public_address() -> tuple[str, ...]:
    """Return this machine's outgoing address, if public. Sends nothing."""
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect(SOMEWHERE)
        address = str(sock.getsockname()[0])
        return () if is_private(address) else (address,)
    return ()


def is_private(host: str) -> bool:
    """Return whether it is this machine, private, or without a dot (such as a container)."""
    try:
        return not ip_address(host).is_global
    except ValueError:
        return "." not in host or host.endswith((".localhost", ".local", ".internal", ".lan"))


def _mx(domain: str, lookup: Lookup, purpose: str) -> Finding:
    mx = lookup(domain, "MX")
    hosts = [record.partition(" ")[2] for record in mx.records if not record.endswith(f" {NULL}")]
    own = lookup(domain, "A")
    if not own.records:
        own = lookup(domain, "AAAA")
    named = {}
    for host in hosts[:MOST_HOSTS]:
        answer = lookup(host, "A")
        named[host] = answer if answer.records else lookup(host, "AAAA")
    return judge_mx(domain, mx, own, purpose=purpose, without=named)


def _ptr(way: MailRoute, lookup: Lookup) -> list[Finding]:
    if not way.is_direct:
        says = "Emails are sent from the provider’s addresses, so reverse DNS is up to the provider."
        return [Finding(PTR, way.name, "EMAIL_URL", DoctorVerdict.GOOD, says)]
    found = []
    for address in route_addresses(way, lookup):
        name = reverse_name(address)
        names = lookup(name, "PTR")
        forward = {
            each: (*lookup(each, "A").records, *lookup(each, "AAAA").records)
            for each in names.records[:MOST_HOSTS]
        }
        found.append(judge_ptr(address, name, names, forward))
    return found
