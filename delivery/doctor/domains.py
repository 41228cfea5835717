"""Domains of organizations (RFC 7489 §3.2), and SPF includes of providers. Pure."""

import re
from functools import lru_cache

from publicsuffixlist import PublicSuffixList

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
