"""The keys of a letter's From domain, which sign it. Read from the database once a minute at most."""

import time
from collections import defaultdict
from functools import lru_cache
from typing import cast

from channels.email.address import parse_sender
from channels.email.dkim.keys import SigningKey, from_pem
from common.ports.channels import InvalidDestination
from common.secrets import Sealed
from delivery.models import DkimKey

FRESH_SECONDS = 60.0


class SigningKeys:
    """The active keys, as they were a minute ago at most. Used by one thread."""

    def __init__(self) -> None:
        self._read_at = -FRESH_SECONDS
        self._domains: dict[str, list[tuple[str, Sealed]]] = {}
        self._found: dict[str, tuple[SigningKey, ...]] = {}

    def of(self, sender: str) -> tuple[SigningKey, ...]:
        """The keys for letters from an address (with or without a name); none for what is no address.

        Raises ValueError when a key cannot be read: a letter that should be signed does not go unsigned.
        """
        if time.monotonic() - self._read_at >= FRESH_SECONDS:
            domains: dict[str, list[tuple[str, Sealed]]] = defaultdict(list)
            for row in DkimKey.objects.filter(active=True).order_by("-algorithm"):
                domains[row.domain].append((row.selector, cast(Sealed, row.private)))
            self._domains, self._found = dict(domains), {}
            self._read_at = time.monotonic()
        if not self._domains:
            return ()
        if sender in self._found:
            return self._found[sender]
        try:
            domain = parse_sender(sender).domain.lower()
        except InvalidDestination:
            domain = ""
        # A parent's key is aligned as well, unless the domain's DMARC says adkim=s (RFC 7489 §3.1.1).
        while domain and domain not in self._domains:
            domain = domain.partition(".")[2]
        found = self._domains.get(domain, ())
        keys = tuple(_loaded(domain, selector, private.token) for selector, private in found)
        self._found[sender] = keys
        return keys


@lru_cache(maxsize=256)
def _loaded(domain: str, selector: str, token: str) -> SigningKey:
    try:
        return SigningKey(domain, selector, from_pem(Sealed(token).open()["pem"]))
    except (ValueError, KeyError) as error:
        raise ValueError(f"The DKIM key {selector} of {domain} cannot be used. {error}") from error
