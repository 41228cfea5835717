"""Reads SPF records (RFC 7208 §4.5, §4.6, §12). Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_network

VERSION = "v=spf1"
ASKING = ("include", "a", "mx", "ptr", "exists")
MECHANISMS = ("all", *ASKING, "ip4", "ip6")
LONGEST = 4_000
_MECHANISM = re.compile(r"([+?~-])?([a-z0-9]+)(?:[:](.*?))?(?:/(\d{1,2}))?(?://(\d{1,3}))?", re.IGNORECASE)
_MODIFIER = re.compile(r"([A-Za-z][A-Za-z0-9._-]*)=(.*)")


@dataclass(frozen=True, slots=True)
class Term:
    """A mechanism: `+` pass, `-` fail, `~` softfail, `?` neutral. `network` is of ip4 and ip6."""

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
    """A record. With `problems` every receiver may ignore it (permerror, §4.6)."""

    terms: tuple[Term, ...] = ()
    redirect: str = ""
    problems: tuple[str, ...] = ()

    @property
    def catch_all(self) -> Term | None:
        return next((term for term in self.terms if term.name == "all"), None)


def spf_records(texts: Sequence[str]) -> list[str]:
    """Those of a name's TXT records that are SPF records (§4.5)."""
    return [text for text in texts if text.lower() == VERSION or text.lower().startswith(f"{VERSION} ")]


def read_spf(text: str) -> Spf:
    """Raises nothing: what is wrong is among the problems."""
    terms: list[Term] = []
    redirects: list[str] = []
    wrong: list[str] = []
    for word in text[:LONGEST].split()[1:]:
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
        wrong.append("redirect= stands there more than once")
    if redirects and not redirects[0]:
        wrong.append("redirect= names no domain")
    return Spf(tuple(terms), redirects[0] if redirects else "", tuple(wrong))


def _term(word: str) -> Term | str:
    """The mechanism, or what is wrong with it."""
    shown = f"“{word[:80]}”"
    if word.lstrip("+-~?").lower().startswith(("ip4:", "ip6:")):
        return _network(word, shown)
    match = _MECHANISM.fullmatch(word)
    name = match[2].lower() if match else ""
    if match is None or name not in MECHANISMS:
        return f"{shown} is no mechanism"
    value, prefix4, prefix6 = match[3] or "", int(match[4] or 32), int(match[5] or 128)
    if name in ("include", "exists", "ip4", "ip6") and not value:
        return f"{shown} lacks what follows the colon"
    if name == "all" and value:
        return f"{shown} has something after “all”"
    if prefix4 > 32 or prefix6 > 128:
        return f"{shown} has a prefix that is too long"
    return Term(match[1] or "+", name, value.rstrip(".").lower(), prefix4, prefix6)


def _network(word: str, shown: str) -> Term | str:
    qualifier = word[0] if word[0] in "+-~?" else "+"
    name, _, value = word.lstrip("+-~?").partition(":")
    try:
        network = ip_network(value, strict=False)
    except ValueError:
        return f"{shown} holds no IP address"
    if network.version != int(name[2]):
        return f"{shown} holds an address of the other kind"
    return Term(qualifier, name.lower(), value, network=network)
