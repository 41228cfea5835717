import re
from collections.abc import Mapping

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
# Real domains that look like typos.
REAL = frozenset(("mail", "email", "ymail", "hmail", "qmail", "fmail", "zmail", "vmail", "tmail"))
SLIPS_OF_COM = frozenset(
    ("con", "cmo", "ocm", "comm", "coom", "ccom", "cim", "vom", "xom", "cpm", "cm", "om", "co")
)
_DOMAIN = re.compile(r"([a-z0-9-]+)\.([a-z.]+)")


def meant(address: str) -> str:
    name, at, domain = address.strip().rpartition("@")
    match = _DOMAIN.fullmatch(domain.lower().rstrip("."))
    if not at or not name or match is None or match[1] in REAL:
        return ""
    provider, rest = match[1], match[2]
    tidy = "com" if rest in SLIPS_OF_COM else rest
    if provider in PROVIDERS:
        is_slip = tidy != rest and "com" in PROVIDERS[provider]
        return f"{name}@{provider}.com" if is_slip else ""
    near = [each for each, rests in PROVIDERS.items() if tidy in rests and is_one_slip(provider, each)]
    return f"{name}@{near[0]}.{tidy}" if len(near) == 1 else ""


def is_one_slip(typed: str, word: str) -> bool:
    """Return whether one letter is missing, extra or wrong, or two are swapped."""
    if typed == word or abs(len(typed) - len(word)) > 1:
        return False
    start = next(
        (at for at, (one, other) in enumerate(zip(typed, word, strict=False)) if one != other),
        min(len(typed), len(word)),
    )
    left, right = typed[start:], word[start:]
    swapped = left[1::-1] + left[2:] if len(left) > 1 else left
    return left[1:] == right[1:] or left[1:] == right or left == right[1:] or swapped == right
