"""What a token may do: the words, what each opens, and whether one includes another."""

from collections.abc import Iterable, Mapping

READ, WRITE = "read", "write"
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})

# Each as tokens and the admin name it.
SCOPES: Mapping[str, str] = {
    "feeds:read": "See feeds and their posts.",
    "feeds:write": "Add, change and remove feeds; exclude posts and take them back.",
    "newsletters:read": "See newsletters and bridges.",
    "newsletters:write": "Define, change, pause and remove newsletters and bridges.",
    "site:read": "See the site’s settings.",
    "site:write": "Change the site’s settings: its name, colour and links.",
    "subscribers:read": "See subscribers and their addresses.",
    "subscribers:write": "Add, change, confirm and end subscriptions; disable and erase addresses.",
    "letters:read": "See letters of your own, drafts included.",
    "letters:write": "Write, schedule and send letters of your own to all readers of a newsletter.",
    "sending:read": "See issues and deliveries, with the addresses these went to.",
    "sending:write": "Approve, pause and cancel issues; try deliveries again.",
}


def scope_for(area: str, method: str) -> str:
    """The scope that a request needs."""
    return f"{area}:{READ if method in SAFE else WRITE}"


def covers(scopes: Iterable[str], wanted: str) -> bool:
    """Whether one of the scopes is enough; who may write may read."""
    area = wanted.partition(":")[0]
    return not {wanted, f"{area}:{WRITE}"}.isdisjoint(scopes)
