"""What an instance says of itself: its limits, and whether it honours an Idempotency-Key."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from mastodon import Mastodon, MastodonNotFoundError

from delivery.channels.mastodon.length import StatusLimits

INSTANCE_REMEMBERED = timedelta(days=1)
MOST_INSTANCES = 1000
USUAL = StatusLimits()
# Forks and other servers keep "mastodon" out of their source's name or say "compatible" in the version.
MASTODON_SOURCE = "/mastodon"


@dataclass(frozen=True, slots=True)
class Instance:
    """`honours_keys`: whether it is known to keep an Idempotency-Key for an hour, as Mastodon itself does."""

    limits: StatusLimits = USUAL
    honours_keys: bool = False


class InstanceCache:
    """Instances by address, each for a day; one for the process."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Instance, datetime]] = {}
        self._lock = threading.Lock()

    def get(self, url: str, now: datetime) -> Instance | None:
        with self._lock:
            known = self._known.get(url)
        return known[0] if known and now - known[1] < INSTANCE_REMEMBERED else None

    def put(self, url: str, instance: Instance, now: datetime) -> None:
        with self._lock:
            if len(self._known) >= MOST_INSTANCES:
                self._known.clear()
            self._known[url] = (instance, now)

    def forget(self, url: str) -> None:
        with self._lock:
            self._known.pop(url, None)


def ask(api: Mastodon) -> Instance:
    """Reads /api/v2/instance, else /api/v1/instance, else takes the usual. Raises what Mastodon.py raises."""
    for endpoint, read in ((api.instance_v2, from_v2), (api.instance_v1, from_v1)):
        try:
            return read(_mapping(endpoint()))
        except MastodonNotFoundError:
            continue
    return Instance()


def from_v2(said: Mapping[str, Any]) -> Instance:
    """Reads the answer of /api/v2/instance, whatever is in it."""
    version, source = str(said.get("version", "")), urlsplit(str(said.get("source_url", ""))).path
    proper = source.rstrip("/").endswith(MASTODON_SOURCE) and "compatible" not in version.lower()
    return Instance(_limits(said), honours_keys=proper)


def from_v1(said: Mapping[str, Any]) -> Instance:
    """Reads the answer of /api/v1/instance; forks name their limit `max_toot_chars`."""
    forks = _number(said.get("max_toot_chars"), USUAL.characters)
    return Instance(_limits(said, characters=forks))


def _limits(said: Mapping[str, Any], characters: int = USUAL.characters) -> StatusLimits:
    statuses = _mapping(_mapping(said.get("configuration")).get("statuses"))
    return StatusLimits(
        characters=_number(statuses.get("max_characters"), characters),
        per_url=_number(statuses.get("characters_reserved_per_url"), USUAL.per_url),
    )


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _number(value: Any, otherwise: int) -> int:
    """A limit from 1 to 100,000, else the usual one."""
    return value if isinstance(value, int) and 0 < value <= 100_000 else otherwise
