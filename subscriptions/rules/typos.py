"""“Did you mean gmail.com?”: addresses whose domain is nearly that of a provider that very many have."""

import re
from collections.abc import Mapping

# The names of providers, and what may follow each.
PROVIDERS: Mapping[str, tuple[str, ...]] = {
    "gmail": ("com",),
    "googlemail": ("com",),
    "outlook": ("com", "de", "fr", "es"),
    "hotmail": ("com", "de", "fr", "es", "it", "co.uk"),
    "yahoo": ("com", "de", "fr", "es", "it", "co.uk", "com.br"),
    "icloud": ("com",),
    "proton": ("me",),
    "protonmail": ("com",),
    "fastmail": ("com",),
    "posteo": ("de",),
    "mailbox": ("org",),
    "t-online": ("de",),
    "orange": ("fr",),
    "wanadoo": ("fr",),
    "laposte": ("net",),
    "libero": ("it",),
}
# Other people's domains that look like slips.
REAL = frozenset(("mail", "email", "ymail", "hmail", "qmail", "fmail", "zmail", "vmail", "tmail"))
SLIPS_OF_COM = frozenset(
    ("con", "cmo", "ocm", "comm", "coom", "ccom", "cim", "vom", "xom", "cpm", "cm", "om", "co")
)
_DOMAIN = re.compile(r"([a-z0-9-]+)\.([a-z.]+)")


def meant(address: str) -> str:
    """The address that was most likely meant, else nothing. Whoever typed it may know better."""
    name, at, domain = address.strip().rpartition("@")
    found = _DOMAIN.fullmatch(domain.lower().rstrip("."))
    if not at or not name or found is None or found[1] in REAL:
        return ""
    provider, rest = found[1], found[2]
    tidy = "com" if rest in SLIPS_OF_COM else rest
    if provider in PROVIDERS:
        is_slip = tidy != rest and "com" in PROVIDERS[provider]
        return f"{name}@{provider}.com" if is_slip else ""
    near = [each for each, rests in PROVIDERS.items() if tidy in rests and is_one_slip(provider, each)]
    return f"{name}@{near[0]}.{tidy}" if len(near) == 1 else ""


def is_one_slip(typed: str, word: str) -> bool:
    """Whether one letter is missing, too many or wrong, or two neighbours have changed places."""
    if typed == word or abs(len(typed) - len(word)) > 1:
        return False
    start = next(
        (at for at, (one, other) in enumerate(zip(typed, word, strict=False)) if one != other),
        min(len(typed), len(word)),
    )
    left, right = typed[start:], word[start:]
    swapped = left[1::-1] + left[2:] if len(left) > 1 else left
    return left[1:] == right[1:] or left[1:] == right or left == right[1:] or swapped == right
