"""Sites that may embed a newsletter's form."""

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address
from typing import Self
from urllib.parse import quote, urlsplit

import idna
from publicsuffixlist import PublicSuffixList

from common.refused import Refused

MOST_SITES = 20
LONGEST_URL = 2000
DEFAULT_PORTS = {"http": 80, "https": 443}
WILD = "*."
# Browsers drop or change some of these.
_UNSAFE = re.compile(r"[\s\\\x00-\x20\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
# RFC 3986 §3.3 and §3.4. Existing %XX octets are kept.
_KEPT = "/?:@!$&'()*+,;=-._~%"


class InvalidSite(Refused):
    pass


@dataclass(frozen=True, slots=True)
class Site:
    """ASCII host. `*.example.org` matches subdomains but not example.org."""

    host: str
    port: int | None = None

    def __str__(self) -> str:
        return self.host if self.port is None else f"{self.host}:{self.port}"

    def holds(self, address: "Address") -> bool:
        if address.port != (self.port or DEFAULT_PORTS[address.scheme]):
            return False
        if self.host.startswith(WILD):
            return address.host.endswith(self.host[1:])
        return address.host == self.host


@dataclass(frozen=True, slots=True)
class Address:
    """ASCII URL, parsed as browsers do."""

    scheme: str
    host: str
    port: int
    path: str = ""
    query: str = ""
    fragment: str = ""

    @classmethod
    def parse(cls, url: str) -> Self | None:
        """Return None unless unambiguous http or https."""
        if len(url) > LONGEST_URL or _UNSAFE.search(url):
            return None
        try:
            parts = urlsplit(url)
            host, port = _host(parts.hostname or ""), parts.port
        except ValueError:
            return None
        if parts.scheme not in DEFAULT_PORTS or "@" in parts.netloc or port == 0:
            return None
        rest = (quote(part, safe=_KEPT) for part in (parts.path, parts.query, parts.fragment))
        return cls(parts.scheme, host, port or DEFAULT_PORTS[parts.scheme], *rest)

    @property
    def origin(self) -> str:
        """RFC 6454 §6.2."""
        port = "" if self.port == DEFAULT_PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{self.host}{port}"

    def __str__(self) -> str:
        query = f"?{self.query}" if self.query else ""
        fragment = f"#{self.fragment}" if self.fragment else ""
        return f"{self.origin}{self.path or '/'}{query}{fragment}"


def tidy(text: str) -> str:
    """Normalize lines. Raises InvalidSite."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) > MOST_SITES:
        raise InvalidSite(f"At most {MOST_SITES} sites. *.example.org stands for all under it.")
    return "\n".join(dict.fromkeys(str(_site(line)) for line in lines))


def sites(kept: str) -> list[Site]:
    parsed = []
    for line in kept.splitlines():
        with suppress(InvalidSite):
            parsed.append(_site(line))
    return parsed


def allowed(kept: str, url: str) -> Address | None:
    address = Address.parse(url)
    return address if address and any(site.holds(address) for site in sites(kept)) else None


def sources(kept: Iterable[Site]) -> list[str]:
    """Return CSP sources. `http:` matches https too (CSP 3 §6.7.2.8)."""
    return [f"http://{site}" for site in kept]


@lru_cache(maxsize=256)
def _site(line: str) -> Site:
    whole = line if "://" in line else f"http://{line}"
    try:
        parts = urlsplit(whole.replace("://*.", "://", 1))
        host, port = _host(parts.hostname or ""), parts.port
    except ValueError as error:
        raise _wrong(line) from error
    if parts.scheme not in DEFAULT_PORTS or "@" in parts.netloc or port == 0:
        raise _wrong(line)
    if "." not in host and host != "localhost":
        raise _wrong(line)
    if "://*." in whole:
        # Public suffixes such as *.github.io belong to many people.
        if _is_ip(host) or not _suffixes().privatesuffix(host):
            raise InvalidSite(
                f"“{line}” would be sites of many people. Name your own, such as *.example.org."
            )
        host = WILD + host
    return Site(host, None if port == DEFAULT_PORTS[parts.scheme] else port)


def _wrong(line: str) -> InvalidSite:
    return InvalidSite(f"“{line[:80]}” is not a site. Write one to a line, such as blog.example.org.")


def _host(host: str) -> str:
    """Return ASCII. Raises ValueError."""
    if _is_ip(host):
        return host
    name = idna.encode(host.rstrip("."), uts46=True).decode("ascii").lower()
    if len(name) > 253 or name.rpartition(".")[2].isdecimal():
        raise ValueError(host)
    return name


def _is_ip(host: str) -> bool:
    try:
        return str(IPv4Address(host)) == host
    except ValueError:
        return False


@lru_cache(maxsize=1)
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList()
