"""Which domains belong to one organisation (RFC 7489 §3.2), by the Public Suffix List. Pure."""

from functools import lru_cache

from publicsuffixlist import PublicSuffixList


@lru_cache(maxsize=1)
def _list() -> PublicSuffixList:
    return PublicSuffixList()


def organisation(domain: str) -> str:
    """The domain that somebody registered: example.co.uk of news.example.co.uk. Itself, if it is a suffix."""
    domain = domain.lower().rstrip(".")
    try:
        return str(_list().privatesuffix(domain) or domain)
    except ValueError:
        return domain


def aligned(one: str, other: str, *, strict: bool = False) -> bool:
    """Whether DMARC takes them for the same sender (RFC 7489 §3.1): equal, or of one organisation."""
    one, other = one.lower().rstrip("."), other.lower().rstrip(".")
    return one == other or (not strict and bool(one) and organisation(one) == organisation(other))
