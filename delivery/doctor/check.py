"""The deliverability doctor: gathers what is in use, then looks at the DNS, the servers and the site."""

import ssl
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from ipaddress import ip_address

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from common.net.client import client
from common.ports.channels import InvalidDestination
from common.text import counted
from common.transactions import forbid_open_transaction
from delivery.accounts.accounts import url_of
from delivery.channels.email.account_url import transport_of
from delivery.channels.email.address import Address, parse_address, parse_sender
from delivery.channels.email.smtp_settings import SmtpSettings
from delivery.dkim.records import Record
from delivery.doctor.checks import Key, Sender, Way, check_bounces, check_domain, check_way
from delivery.doctor.dkim import Publication, publication
from delivery.doctor.dns import Dns, NoResolver
from delivery.doctor.domains import organisation
from delivery.doctor.findings import Finding, Verdict, worst
from delivery.doctor.web import check_links
from delivery.models import DkimKey, Lane
from delivery.rules.accounts import DEFAULT
from subscriptions.models import Subscribable

EMAIL = "email"
AT_ONCE = 8
Work = Callable[[], Iterable[Finding]]
# Somebody waits for a page.
SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """What was found. With a `problem` nothing could be looked at."""

    findings: tuple[Finding, ...] = ()
    problem: str = ""

    @property
    def verdict(self) -> Verdict:
        return Verdict.WRONG if self.problem else worst(self.findings)

    def count(self, verdict: Verdict) -> int:
        return sum(finding.verdict is verdict for finding in self.findings)

    @property
    def in_short(self) -> str:
        """ "2 things are wrong, 1 could be better." """
        if self.problem:
            return self.problem
        wrong, better = self.count(Verdict.WRONG), self.count(Verdict.BETTER)
        if not wrong and not better:
            return "All is well."
        return f"{counted(wrong, 'thing')} {'is' if wrong == 1 else 'are'} wrong, {better:,} could be better."


@dataclass(slots=True)
class Gathered:
    """What is in use: which domains send through which accounts, and their keys."""

    senders: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    wrong: list[Finding] = field(default_factory=list)


def check_mail(
    *,
    now: datetime,
    from_address: str = "",
    newsletter: str = "",
    sending_address: str = "",
    context: ssl.SSLContext | None = None,
    told: Callable[[int], None] | None = None,
) -> DoctorReport:
    """Looks at all that is in use, or at one sender or newsletter. Takes up to a minute of network.

    `sending_address`: from which letters leave, where that cannot be told here. `told` hears of each of the
    looks that ended. Raises InvalidDestination, Subscribable.DoesNotExist, and ValueError for what is no
    IP address.
    """
    forbid_open_transaction()
    found = gathered(from_address=from_address, newsletter=newsletter)
    own = (str(ip_address(sending_address)),) if sending_address else ()
    ours = {organisation(domain) for domain in (*found.senders, settings.BOUNCE_DOMAIN) if domain}
    accounts = sorted({name for used in found.senders.values() for name in used})
    ways = [_way(account, own, ours) for account in accounts]
    senders = [_sender(domain, sorted(used)) for domain, used in sorted(found.senders.items())]
    try:
        dns = Dns(settings.DNS_SERVERS)
        dns.be_reachable()
    except NoResolver as error:
        return DoctorReport(problem=str(error))
    work = _work(dns, senders, ways, now=now, context=context)
    return DoctorReport((*found.wrong, *_done(work, told)))


def _work(
    dns: Dns, senders: Sequence[Sender], ways: Sequence[Way], *, now: datetime, context: ssl.SSLContext | None
) -> list[Work]:
    """Without the database: each may run in a thread of its own."""
    known = {way.account: way for way in ways}
    work: list[Work] = [
        partial(check_domain, sender, [known[name] for name in sender.accounts], dns) for sender in senders
    ]
    if settings.BOUNCE_DOMAIN:
        work.append(partial(check_bounces, settings.BOUNCE_DOMAIN, dns))
    work += [partial(check_way, way, dns, now=now, context=context) for way in ways]
    work.append(partial(check_links, settings.SITE_URL, client()))
    return work


def _done(work: Sequence[Work], told: Callable[[int], None] | None) -> list[Finding]:
    findings: list[Finding] = []
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for future in [pool.submit(each) for each in work]:
            findings += future.result()
            if told:
                told(1)
    return list(dict.fromkeys(findings))


def gathered(*, from_address: str = "", newsletter: str = "") -> Gathered:
    """The From domains in use, each with the accounts it is sent through."""
    found = Gathered()
    rows = Subscribable.objects.filter(channel=EMAIL)
    if newsletter:
        rows = rows.filter(pk=Subscribable.objects.get(name=newsletter).pk)
    pairs = [(row.from_email, str(row.options.get("account") or DEFAULT)) for row in rows]
    if from_address:
        accounts = {account for sender, account in pairs if newsletter or _same(sender, from_address)}
        found.senders[parse_address(from_address).domain.lower()] |= accounts or {DEFAULT}
        return found
    if not newsletter:
        # Confirmations and sign-in links of no newsletter, too.
        pairs.append(("", DEFAULT))
    for sender, account in pairs:
        _add(found, sender or settings.DEFAULT_FROM_EMAIL, account)
    return found


def _same(sender: str, from_address: str) -> bool:
    wanted = parse_address(from_address).domain
    try:
        return parse_sender(sender or settings.DEFAULT_FROM_EMAIL).domain == wanted
    except InvalidDestination:
        return False


def _add(found: Gathered, sender: str, account: str) -> None:
    try:
        address: Address = parse_sender(sender)
        parse_address(sender)
    except InvalidDestination:
        says = f"Letters from {sender} are refused: that is no address of a domain of yours."
        change = "Set DEFAULT_FROM_EMAIL, or the newsletter’s From, to Name <letters@example.org>."
        wrong = Finding("From", sender, "From", Verdict.WRONG, says, (sender,), change)
        if wrong not in found.wrong:
            found.wrong.append(wrong)
        return
    found.senders[address.domain.lower()].add(account)


def _way(account: str, own: tuple[str, ...], ours: Collection[str]) -> Way:
    """Where an account leads. Reads the database: its URL is kept there."""
    try:
        target = transport_of(account, url_of(Lane(kind=EMAIL, account=account)))
    except ImproperlyConfigured as error:
        return Way(account, None, own, trouble=str(error))
    is_ours = isinstance(target, SmtpSettings) and organisation(target.host) in ours
    return Way(account, target, own, is_ours)


def _sender(domain: str, accounts: Sequence[str]) -> Sender:
    """A From domain with its keys: its own, or those of the nearest domain above it that has any."""
    keys: list[DkimKey] = []
    at = domain
    while at and not any(key.active for key in keys):
        keys += DkimKey.objects.filter(domain=at, retired_at=None).order_by("-active", "-algorithm", "pk")
        at = at.partition(".")[2]
    return Sender(
        domain,
        tuple(accounts),
        envelope=settings.BOUNCE_DOMAIN.lower() or domain,
        keys=tuple(key_of(key) for key in keys),
    )


def key_of(key: DkimKey) -> Key:
    """A key without its private part."""
    record: Record = key.record
    return Key(key.domain, key.algorithm, record, key.active)


def look_up(key: DkimKey) -> Publication:
    """Asks the DNS (network), two seconds at most. Raises nothing but NetworkInTransaction."""
    try:
        dns = Dns(settings.DNS_SERVERS, seconds=SECONDS)
    except NoResolver as error:
        return Publication(Verdict.BETTER, str(error))
    return publication(key.record, key.algorithm, dns(key.record.name, "TXT"))
