"""DMARC (RFC 7489): a domain's policy, and whether letters pass. Pure.

Domains of organizations (RFC 7489 §3.2), and SPF includes of providers. Pure.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from publicsuffixlist import PublicSuffixList

from common.program import MANAGE
from delivery.doctor.findings import DoctorVerdict, Finding, Lookup, Publish

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
# Loaded at first use.
_public_suffixes = lru_cache(maxsize=1)(PublicSuffixList)
# End of a server's name → include: by its documentation.
INCLUDES = {
    "smtp.gmail.com": "_spf.google.com",
    "smtp-relay.gmail.com": "_spf.google.com",
    "smtp.office365.com": "spf.protection.outlook.com",
    "amazonaws.com": "amazonses.com",
    "sendgrid.net": "sendgrid.net",
    "mailgun.org": "mailgun.org",
    "mailjet.com": "spf.mailjet.com",
    "brevo.com": "spf.brevo.com",
    "sendinblue.com": "spf.sendinblue.com",
    "mtasv.net": "spf.mtasv.net",
    "postmarkapp.com": "spf.mtasv.net",
    "sparkpostmail.com": "_spf.sparkpostmail.com",
    "messagingengine.com": "spf.messagingengine.com",
    "fastmail.com": "spf.messagingengine.com",
    "zoho.com": "zohomail.com",
    "zoho.eu": "zohomail.eu",
    "migadu.com": "spf.migadu.com",
    "smtp2go.com": "spf.smtp2go.com",
}
DMARC = "DMARC"
DMARC_VERSION = "v=DMARC1"
POLICIES = ("none", "quarantine", "reject")


@dataclass(frozen=True, slots=True)
class Dmarc:
    """Record. `policy`: p=, "" if unreadable."""

    policy: str = ""
    subdomain_policy: str = ""
    strict_spf: bool = False
    strict_dkim: bool = False
    reports: tuple[str, ...] = ()
    percent: str = ""
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Place:
    """Place where a domain's record was searched, and its records."""

    domain: str
    at: str
    records: tuple[str, ...] = ()
    is_unknown: bool = False

    @property
    def name(self) -> str:
        return f"_dmarc.{self.at}"


def dmarc_records(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the DMARC records of TXT records (§6.6.3)."""
    return tuple(text for text in texts if text.partition(";")[0].replace(" ", "") == DMARC_VERSION)


def read_dmarc(text: str) -> Dmarc:
    """Parse a record, with mistakes in `problems`. Raises nothing."""
    tags, wrong = read_tags(text)
    problems = list(wrong)
    reports = tuple(uri.strip() for uri in tags.get("rua", "").split(",") if uri.strip())
    policy = tags.get("p", "").lower()
    if policy not in POLICIES:
        problems.append(f"p={policy[:40]} is none of {', '.join(POLICIES)}" if policy else "p= is missing")
    for name in ("adkim", "aspf"):
        if tags.get(name, "r").lower() not in ("r", "s"):
            problems.append(f"{name}= must be r or s")
    return Dmarc(
        policy=policy if policy in POLICIES else "",
        subdomain_policy=tags.get("sp", "").lower(),
        strict_spf=tags.get("aspf", "").lower() == "s",
        strict_dkim=tags.get("adkim", "").lower() == "s",
        reports=reports,
        percent=tags.get("pct", ""),
        problems=tuple(problems),
    )


def find_place(domain: str, lookup: Lookup) -> Place:
    """Query the domain, then its organization's (§6.6.3)."""
    for at in dict.fromkeys((domain, organisation(domain))):
        answer = lookup(f"_dmarc.{at}", "TXT")
        records = dmarc_records(answer.records)
        if records or answer.failed:
            return Place(domain, at, records, is_unknown=answer.failed)
    return Place(domain, organisation(domain))


def judge_policy(place: Place) -> list[Finding]:
    """Judge whether a record exists, and its policy."""
    if place.is_unknown:
        return [
            _said(place, DoctorVerdict.BETTER, "No name server responded, so its DMARC record is unknown.")
        ]
    if not place.records:
        said = "It has no DMARC record. Large providers refuse newsletters from such domains."
        value = f"{DMARC_VERSION}; p=none; rua=mailto:dmarc-reports@{place.at}"
        change = "Publish this record, with an address that you read."
        return [_said(place, DoctorVerdict.WRONG, said, change, Publish(place.name, value))]
    if len(place.records) > 1:
        said = f"It has {len(place.records)} DMARC records, so none of them counts."
        return [_said(place, DoctorVerdict.WRONG, said, "Keep only one of them.")]
    dmarc = read_dmarc(place.records[0])
    if dmarc.problems:
        said = f"Its DMARC record can’t be read: {'; '.join(dmarc.problems)}."
        return [_said(place, DoctorVerdict.WRONG, said, "Correct the record.")]
    policy = dmarc.policy
    if place.at != place.domain and dmarc.subdomain_policy in POLICIES:
        policy = dmarc.subdomain_policy
    asks = {
        "none": "only asks receivers for reports",
        "quarantine": "sends failing emails to spam",
        "reject": "has failing emails refused",
    }[policy]
    found = [_said(place, DoctorVerdict.GOOD, f"There is a DMARC record; it {asks} (p={policy}).")]
    if not dmarc.reports:
        value = f"{place.records[0].rstrip().rstrip(';')}; rua=mailto:dmarc-reports@{place.at}"
        said = "It doesn’t ask for reports (rua), so you won’t learn about emails that fail."
        change = "Publish this record instead, with an address that you read."
        found.append(_said(place, DoctorVerdict.BETTER, said, change, Publish(place.name, value)))
    return found


def judge_alignment(
    place: Place, *, envelope: str, signers: Sequence[str], others_may_sign: bool
) -> list[Finding]:
    """Judge whether letters pass, by return address (SPF) or signature (DKIM).

    `signers`: our active keys' domains. `others_may_sign`: by a server or provider after us.
    """
    dmarc = read_dmarc(place.records[0]) if len(place.records) == 1 else Dmarc()
    by_spf = aligned(place.domain, envelope, strict=dmarc.strict_spf)
    by_dkim = any(aligned(place.domain, signer, strict=dmarc.strict_dkim) for signer in signers)
    if by_spf and by_dkim:
        said = f"The return address ({envelope}) and the signature ({', '.join(signers)}) both belong to it."
        return [_said(place, DoctorVerdict.GOOD, said)]
    if by_dkim:
        said = f"Only the signature counts, because the return address belongs to another domain, {envelope}."
        change = f"Set BOUNCE_DOMAIN to a domain below {organisation(place.domain)}."
        return [_said(place, DoctorVerdict.BETTER, said, change)]
    if by_spf:
        said = (
            "Only the return address counts. Feedletter doesn’t sign emails for it, so forwarded emails fail."
        )
        change = f"Create a key: {MANAGE} dkim_key {place.domain}"
        if others_may_sign:
            change += " (unless your mail server or provider signs with this domain)"
        return [_said(place, DoctorVerdict.BETTER, said, f"{change}.")]
    said = (
        f"Emails fail DMARC: the return address belongs to {envelope}, and no signature "
        "belongs to the sender’s domain."
    )
    verdict = DoctorVerdict.BETTER if others_may_sign else DoctorVerdict.WRONG
    return [_said(place, verdict, said, f"Create a key: {MANAGE} dkim_key {place.domain}")]


def judge_report_address(place: Place, lookup: Lookup) -> list[Finding]:
    """Check that other organizations agree to get reports (§7.1)."""
    if len(place.records) != 1:
        return []
    found = []
    for uri in read_dmarc(place.records[0]).reports:
        domain = uri.partition("!")[0].rpartition("@")[2].lower()
        if not uri.lower().startswith("mailto:") or not domain or aligned(domain, place.at):
            continue
        name = f"{place.at}._report._dmarc.{domain}"
        answer = lookup(name, "TXT")
        if not answer.failed and not dmarc_records([text.strip() for text in answer.records]):
            said = f"Reports are addressed to {domain}, which doesn’t accept them, so none will be sent."
            change = f"{domain} must publish this record. Otherwise use an address at {place.at}."
            found.append(_said(place, DoctorVerdict.BETTER, said, change, Publish(name, DMARC_VERSION)))
    return found


def _said(
    place: Place, verdict: DoctorVerdict, says: str, change: str = "", publish: Publish | None = None
) -> Finding:
    return Finding(DMARC, place.domain, f"TXT {place.name}", verdict, says, place.records, change, publish)


def read_tags(text: str) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return tags in order, names in lower case, and mistakes."""
    tags: dict[str, str] = {}
    wrong: list[str] = []
    for part in text.split(";"):
        if not part.strip():
            continue
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not _NAME.fullmatch(name):
            wrong.append(f"“{part.strip()[:60]}” isn’t a tag with a value")
        elif name.lower() in tags:
            wrong.append(f"the tag {name.lower()} appears twice")
        else:
            tags[name.lower()] = value
    return tags, tuple(wrong)


def organisation(domain: str) -> str:
    """Return the registered domain: example.co.uk of news.example.co.uk. A suffix stays."""
    domain = domain.lower().rstrip(".")
    try:
        return str(_public_suffixes().privatesuffix(domain) or domain)
    except ValueError:
        return domain


def aligned(one: str, other: str, *, strict: bool = False) -> bool:
    """Return whether they align (RFC 7489 §3.1): equal, or of one organization."""
    one, other = one.lower().rstrip("."), other.lower().rstrip(".")
    return one == other or (not strict and bool(one) and organisation(one) == organisation(other))


def include_of(host: str) -> str:
    """Return a server's include:, "" if unknown."""
    host = host.lower().rstrip(".")
    ends = (end for end in INCLUDES if host == end or host.endswith(f".{end}"))
    return next((INCLUDES[end] for end in ends), "")
