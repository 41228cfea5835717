"""Salts of feedletter's databases. Each proves the links of its own numbers."""

from collections.abc import Iterable
from typing import Any

from django.db.models import Max

from common.refused import Refused
from common.secrets import opened
from feedletter_site.models import Origin
from subscriptions.models import UpstreamSalt
from subscriptions.subscribers.sign_up import upstream_salts

SALT = "feedletter.secret.salt"


def place_of(salt: str, *, feeds: Iterable[str], source: str) -> int:
    """Return the place of the database with this salt ("" if unknown) and these keys of feeds.

    Raises Refused if another database was imported, and this one's links could not be told from its.
    """
    places = {known: place for place, known in reversed(upstream_salts())}
    if salt in places:
        return places[salt]
    earlier = Origin.objects.filter(source=source, kind="feed")
    is_only = not earlier.exists() or earlier.filter(old_key__in=list(feeds)).exists()
    last = int(UpstreamSalt.objects.aggregate(last=Max("place", default=0))["last"])
    if salt:
        return 0 if is_only and 0 not in places.values() else last + 1
    if is_only and not last:
        return 0
    raise Refused(
        "Another feedletter database was imported before. Give this one’s feedletter-secrets.properties, so"
        " that the links in old emails of both work."
    )


def keep_salt(salt: str, place: int) -> None:
    """Raises Refused if another import took the place meanwhile."""
    if salt:
        secrets: Any = {"salt": salt}
        UpstreamSalt.objects.get_or_create(place=place, defaults={"secrets": secrets})
        row = UpstreamSalt.objects.get(place=place)
        if opened(row.secrets) != secrets:
            raise Refused("Another import began at the same time. Start this one again.")
