"""DKIM keys: create, activate, retire.

The site's key for push services, to which every device is permanently bound.
"""

import re
import time
from collections import defaultdict
from datetime import datetime
from functools import lru_cache
from typing import cast

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from channels.email.address import parse_address, parse_sender
from channels.email.dkim.keys import (
    Private,
    SigningKey,
    UnusableKey,
    algorithm_of,
    from_pem,
    generate,
    public_value,
    read_pem,
    to_pem,
)
from channels.webpush.channel import DEVICES, WebPushChannel
from channels.webpush.message import base64url, new_private_key, point_of, private_key_of
from common.ports.channels import InvalidDestination
from common.secrets import Sealed, opened
from delivery.models import Account, DkimKey

FRESH_SECONDS = 60.0
FIRST_SELECTOR = {"rsa": "feedletter", "ed25519": "feedletter-ed25519"}
MAX_SELECTOR = 100
# RFC 6376 §3.1: DNS names, possibly with dots.
_LABEL = "[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?"
_SELECTOR = re.compile(rf"{_LABEL}(\.{_LABEL})*")


class SigningKeys:
    """Active keys, at most a minute old. For one thread."""

    def __init__(self) -> None:
        self._read_at = -FRESH_SECONDS
        self._domains: dict[str, list[tuple[str, Sealed]]] = {}
        self._found: dict[str, tuple[SigningKey, ...]] = {}

    def of(self, sender: str) -> tuple[SigningKey, ...]:
        """Return the keys for a sender, () for an invalid one.

        Raises ValueError for an unreadable key, as letters must not go unsigned.
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
        # Aligned, unless DMARC has adkim=s (RFC 7489 §3.1.1).
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
        raise ValueError(f"The DKIM key {selector} of {domain} can’t be used. {error}") from error


def make_key(
    *, domain: str, now: datetime, algorithm: str = "", selector: str = "", pem: bytes = b""
) -> DkimKey:
    """Create a key or import `pem`. Raises ValidationError, also for a used selector.

    It signs at once if it is the first of its domain and algorithm. Others wait until activated, so that the
    record can be published before.
    """
    domain, selector = checked_key_domain(domain), checked_selector(selector)
    private = _private(algorithm, pem)
    row = DkimKey(
        domain=domain,
        algorithm=algorithm_of(private),
        private={"pem": to_pem(private)},  # type: ignore[misc]
        public=public_value(private),
        created_at=now,
    )
    first, number = FIRST_SELECTOR[row.algorithm], 1
    try:
        with transaction.atomic():
            same = DkimKey.objects.select_for_update(no_key=True).filter(domain=domain).order_by("pk")
            others = list(same)
            taken = {other.selector for other in others}
            row.selector = selector or first
            while not selector and row.selector in taken:
                number += 1
                row.selector = f"{first}-{number}"
            if row.selector in taken:
                raise ValidationError(
                    {"selector": (f"{domain} already has a key with the selector {row.selector}.")}
                )
            if len(row.record.name) > 253:
                raise ValidationError({"selector": "The domain and selector are too long for a DNS name."})
            row.active = not any(other.active and other.algorithm == row.algorithm for other in others)
            row.save(force_insert=True)
    except IntegrityError as error:
        raise ValidationError("Someone just created a key for this domain. Check it first.") from error
    return row


def activate_key(key: DkimKey, *, now: datetime) -> DkimKey:
    """Sign with this key; the active one of its domain and algorithm retires."""
    with transaction.atomic():
        same = DkimKey.objects.select_for_update(no_key=True).filter(domain=key.domain).order_by("pk")
        rows = {row.pk: row for row in same if row.algorithm == key.algorithm}
        if key.pk not in rows:
            raise ValidationError("This key no longer exists.")
        others = DkimKey.objects.filter(pk__in=rows.keys() - {key.pk}, active=True)
        others.update(active=False, retired_at=now)
        DkimKey.objects.filter(pk=key.pk).update(active=True, retired_at=None)
    key.refresh_from_db()
    return key


def retire_key(key: DkimKey, *, now: datetime) -> DkimKey:
    """Stop signing. The record is needed while letters are on their way."""
    DkimKey.objects.filter(pk=key.pk, retired_at=None).update(active=False, retired_at=now)
    key.refresh_from_db()
    return key


def delete_retired(pks: list[int]) -> int:
    return DkimKey.objects.filter(pk__in=pks, active=False, retired_at__isnull=False).delete()[0]


def find_key(*, domain: str, selector: str = "", algorithm: str = "") -> DkimKey | None:
    """Return the selector's key, else the active one, else the newest unused. Raises ValidationError."""
    rows = DkimKey.objects.filter(domain=checked_key_domain(domain))
    rows = rows.filter(selector=checked_selector(selector)) if selector else rows.filter(retired_at=None)
    if algorithm:
        rows = rows.filter(algorithm=algorithm)
    return rows.order_by("-active", "-algorithm", "-pk").first()


def checked_key_domain(text: str) -> str:
    """Return an ASCII domain in lower case. Raises ValidationError."""
    domain = text.strip().rstrip(".").rpartition("@")[2]
    try:
        return parse_address(f"letters@{domain}").domain
    except InvalidDestination:
        raise ValidationError(
            {"domain": f"“{domain[:80]}” isn’t a domain. Enter the part after the @ of your sender."}
        ) from None


def checked_selector(text: str) -> str:
    """Return it in lower case. Raises ValidationError."""
    selector = text.strip().lower()
    if selector and (len(selector) > MAX_SELECTOR or not _SELECTOR.fullmatch(selector)):
        raise ValidationError(
            {"selector": "A selector has letters, digits and hyphens, such as feedletter2 or mail-2026."}
        )
    return selector


def _private(algorithm: str, pem: bytes) -> Private:
    try:
        private = read_pem(pem) if pem else generate(algorithm or DkimKey.Algorithm.RSA)
    except UnusableKey as error:
        raise ValidationError({"import": str(error)}) from error
    except ValueError as error:
        raise ValidationError({"algorithm": str(error)}) from error
    if algorithm and algorithm_of(private) != algorithm:
        raise ValidationError({"algorithm": f"The key is of another kind: {algorithm_of(private)}."})
    return private


def push_public_key() -> str:
    """Return the key for browsers in base64url, created at first use.

    Raises ValueError if unreadable: existing devices need this key. The first of concurrent processes wins.
    """
    row = Account.objects.filter(kind=WebPushChannel.key, name=DEVICES).first()
    if row is None:
        made = {"secrets": {"private": new_private_key()}}
        row, _ = Account.objects.get_or_create(kind=WebPushChannel.key, name=DEVICES, defaults=made)
    return _public(opened(row.secrets)["private"])


@lru_cache(maxsize=2)
def _public(private: str) -> str:
    return base64url(point_of(private_key_of(private).public_key()))
