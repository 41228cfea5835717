"""Deliverability doctor: checks DNS, servers and site for all senders in use."""

import ssl
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from ipaddress import ip_address
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from channels.account import EMAIL
from channels.email.account_url import transport_of
from channels.email.address import EmailAddress, parse_address, parse_sender
from channels.email.smtp_login import SmtpSettings
from channels.rules.accounts import DEFAULT_ACCOUNT
from common.net.client import SafeClient, client
from common.net.errors import AddressRefused, FetchError
from common.ports.channels import InvalidDestination
from common.text import pluralize
from common.transactions import forbid_open_transaction
from delivery.accounts.accounts import keeps_letters, url_of, usual_sender
from delivery.doctor.checks import DomainKey, FromDomain, MailRoute, check_bounces, check_domain, check_way
from delivery.doctor.dkim import Publication, publication
from delivery.doctor.dmarc import organisation
from delivery.doctor.dns import Dns, NoResolver
from delivery.doctor.findings import DoctorVerdict, Finding, worst_verdict
from delivery.models import DkimKey, Lane
from subscriptions.models import Subscribable

TOPIC = "Unsubscribe links"
LINK_SECONDS = 10.0
# A link that was never sent answers OURS, with headers of pages that have a key in their address.
PATH = "/unsubscribe/mail-check/"
OURS = 400
LOCAL = ("localhost",)
LOOKS_AT_ONCE = 8
Work = Callable[[], Iterable[Finding]]
# For one key, while a page is loading.
PAGE_SECONDS = 2.0
KEPT_HERE = "Emails are kept in the mailbox here and not sent."


def check_links(site_url: str, client: SafeClient) -> list[Finding]:
    """Request an unsubscribe link like a mail program: GET and POST. Network. Raises nothing."""
    url = f"{site_url}{PATH}"
    wrong, parts = "", urlsplit(site_url)
    host = parts.hostname or ""
    is_local = host in LOCAL or host.endswith((".localhost", ".local", ".internal"))
    with suppress(ValueError):
        is_local = not ip_address(host).is_global
    if is_local:
        wrong = (
            "SITE_URL is an address of this machine or network, so subscribers and "
            "email programs can’t open it."
        )
    elif parts.scheme != "https":
        wrong = (
            "SITE_URL starts with http://. Gmail, Yahoo and others require https:// "
            "for one-click unsubscribing."
        )
    if wrong:
        return _said(
            url, DoctorVerdict.WRONG, wrong, "Set SITE_URL to the https:// address that subscribers use."
        )
    try:
        answers = [
            client.get(url, timeout=LINK_SECONDS),
            client.post(url, data={"List-Unsubscribe": "One-Click"}, timeout=LINK_SECONDS),
        ]
    except AddressRefused as error:
        text = f"{urlsplit(url).hostname} isn’t a public address, as seen from here: {error}"
        return _said(url, DoctorVerdict.WRONG, text, "Set SITE_URL to a public address.")
    except FetchError as error:
        return _said(
            url, DoctorVerdict.WRONG, f"It can’t be reached from here: {error}", "Make it reachable."
        )
    found = " and ".join(f"HTTP {answer.status}" for answer in answers)
    if any(answer.redirects for answer in answers):
        text = (
            "It redirects. Email programs needn’t follow redirects when someone unsubscribes (RFC 8058 §3.1)."
        )
        change = f"Set SITE_URL to the address it redirects to: {answers[0].url.removesuffix(PATH)}"
        return _said(url, DoctorVerdict.WRONG, text, change, found)
    if not all(
        answer.status == OURS and "noindex" in answer.headers.get("x-robots-tag", "") for answer in answers
    ):
        text = "A server responds there, but it isn’t Feedletter, so subscribers can’t unsubscribe."
        return _said(
            url,
            DoctorVerdict.WRONG,
            text,
            "Let the web server forward GET and POST requests for SITE_URL to Feedletter.",
            found,
        )
    return _said(url, DoctorVerdict.GOOD, "They work over https with a valid certificate.", "", found)


def _said(url: str, verdict: DoctorVerdict, says: str, change: str = "", found: str = "") -> list[Finding]:
    host = urlsplit(url).netloc
    return [Finding(TOPIC, host, f"GET and POST {url}", verdict, says, (found,) if found else (), change)]


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """Findings, or a `problem` that prevented them. `keeps`: most cannot be judged without sending."""

    findings: tuple[Finding, ...] = ()
    problem: str = ""
    keeps: bool = False

    @property
    def verdict(self) -> DoctorVerdict:
        return DoctorVerdict.WRONG if self.problem else worst_verdict(self.findings)

    def count(self, verdict: DoctorVerdict) -> int:
        return sum(finding.verdict is verdict for finding in self.findings)

    @property
    def in_short(self) -> str:
        """Return a summary such as “2 things are wrong, 1 could be better.”"""
        if self.problem:
            return self.problem
        wrong, better = self.count(DoctorVerdict.WRONG), self.count(DoctorVerdict.BETTER)
        kept = f"{KEPT_HERE} " if self.keeps else ""
        if not wrong and not better:
            return "Everything is fine."
        is_or_are = "is" if wrong == 1 else "are"
        return f"{kept}{pluralize(wrong, 'thing')} {is_or_are} wrong, {better:,} could be better."


def check_mail(
    *,
    now: datetime,
    from_address: str = "",
    newsletter: str = "",
    sending_address: str = "",
    context: ssl.SSLContext | None = None,
    told: Callable[[int], None] | None = None,
) -> DoctorReport:
    """Check all senders, or one sender or newsletter. Up to a minute of network.

    `sending_address`: where letters leave, if unknown here. `told` is called with 1 after each check. Raises
    InvalidDestination, Subscribable.DoesNotExist, and ValueError for a wrong `sending_address`.
    """
    forbid_open_transaction()
    in_use, wrong = gather_mail_in_use(from_address=from_address, newsletter=newsletter)
    own = (str(ip_address(sending_address)),) if sending_address else ()
    ways, senders = _ways_and_domains(in_use, own)
    try:
        dns = Dns(settings.DNS_SERVERS)
        dns.be_reachable()
    except NoResolver as error:
        return DoctorReport(problem=str(error))
    # No database from here on: checks run in threads.
    known = {way.account: way for way in ways}
    work: list[Work] = [
        partial(check_domain, sender, [known[name] for name in sender.accounts], dns) for sender in senders
    ]
    if settings.BOUNCE_DOMAIN:
        work.append(partial(check_bounces, settings.BOUNCE_DOMAIN, dns))
    work += [partial(check_way, way, dns, now=now, context=context) for way in ways]
    work.append(partial(check_links, settings.SITE_URL, client()))
    findings: list[Finding] = []
    with ThreadPoolExecutor(LOOKS_AT_ONCE) as pool:
        for future in [pool.submit(each) for each in work]:
            findings += future.result()
            if told:
                told(1)
    keeps = bool(ways) and all(way.is_mailbox for way in ways)
    return DoctorReport((*wrong, *dict.fromkeys(findings)), keeps=keeps or (not ways and keeps_letters()))


def gather_mail_in_use(
    *, from_address: str = "", newsletter: str = ""
) -> tuple[dict[str, set[str]], list[Finding]]:
    """Return From domains in use with their accounts, and invalid addresses."""
    senders: dict[str, set[str]] = defaultdict(set)
    wrong: list[Finding] = []
    rows = Subscribable.objects.filter(channel=EMAIL)
    if newsletter:
        rows = rows.filter(pk=Subscribable.objects.get(name=newsletter).pk)
    pairs = [(row.from_email, str(row.options.get("account") or DEFAULT_ACCOUNT)) for row in rows]
    if from_address:
        wanted = parse_address(from_address).domain
        accounts = set()
        for sender, account in pairs:
            with suppress(InvalidDestination):
                if newsletter or parse_sender(sender or usual_sender(account)).domain == wanted:
                    accounts.add(account)
        senders[wanted.lower()] |= accounts or {DEFAULT_ACCOUNT}
        return senders, wrong
    if not newsletter:
        # Confirmations and sign-in links, too.
        pairs.append(("", DEFAULT_ACCOUNT))
    for sender, account in pairs:
        sender = sender or usual_sender(account)
        try:
            address: EmailAddress = parse_sender(sender)
            parse_address(sender)
        except InvalidDestination:
            is_kept = account == DEFAULT_ACCOUNT and keeps_letters()
            what = "would be" if is_kept else "are"
            says = f"Emails from {sender} {what} refused, because it isn’t an address at your domain."
            change = (
                "Set the sender under “Email set-up”, in DEFAULT_FROM_EMAIL or in the "
                "newsletter’s settings, for example Name <news@example.org>."
            )
            verdict = DoctorVerdict.BETTER if is_kept else DoctorVerdict.WRONG
            finding = Finding("From", sender, "From", verdict, says, (sender,), change)
            if finding not in wrong:
                wrong.append(finding)
        else:
            senders[address.domain.lower()].add(account)
    return senders, wrong


def _ways_and_domains(
    senders: Mapping[str, Collection[str]], own: tuple[str, ...]
) -> tuple[list[MailRoute], list[FromDomain]]:
    """Read routes, and domains with their keys, from the database."""
    ours = {organisation(domain) for domain in (*senders, settings.BOUNCE_DOMAIN) if domain}
    ways = []
    for account in sorted({name for used in senders.values() for name in used}):
        try:
            target = transport_of(account, url_of(Lane(kind=EMAIL, account=account)))
        except ImproperlyConfigured as error:
            ways.append(MailRoute(account, None, own, trouble=str(error)))
        else:
            is_ours = isinstance(target, SmtpSettings) and organisation(target.host) in ours
            ways.append(MailRoute(account, target, own, is_ours))
    domains = []
    for domain, used in sorted(senders.items()):
        # Keys of the domain, or of its nearest parent with any.
        keys: list[DkimKey] = []
        at = domain
        while at and not any(key.active for key in keys):
            keys += DkimKey.objects.filter(domain=at, retired_at=None).order_by("-active", "-algorithm", "pk")
            at = at.partition(".")[2]
        domains.append(
            FromDomain(
                domain,
                tuple(sorted(used)),
                envelope=settings.BOUNCE_DOMAIN.lower() or domain,
                keys=tuple(DomainKey(key.domain, key.algorithm, key.record, key.active) for key in keys),
            )
        )
    return ways, domains


def look_up(key: DkimKey) -> Publication:
    """Query the DNS (network), two seconds at most. Raises only NetworkInTransaction."""
    try:
        dns = Dns(settings.DNS_SERVERS, seconds=PAGE_SECONDS)
    except NoResolver as error:
        return Publication(DoctorVerdict.BETTER, str(error))
    return publication(key.record, key.algorithm, dns(key.record.name, "TXT"))
