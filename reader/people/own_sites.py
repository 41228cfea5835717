"""Readers' own sites, which said who they are."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction

from common.refused import Refused
from reader.models import Reader
from reader.people.readers import may_read


class TakenSite(Refused):
    """Another reader has this site."""


def connect_site(*, reader: Reader, me: str, endpoints: Mapping[str, Any], now: datetime) -> None:
    """Keeps what a site said of this reader. The token for posting on another one goes. Raises TakenSite."""
    changed: dict[str, Any] = {"me": me, "verified_at": now, "endpoints": dict(endpoints)}
    if reader.me != me:
        changed["micropub"] = {}
    try:
        with transaction.atomic():
            Reader.objects.filter(pk=reader.pk).update(**changed)
    except IntegrityError as error:
        raise TakenSite("Another reader has connected this site.", "me") from error
    reader.refresh_from_db()


def disconnect_site(*, reader: Reader) -> None:
    """From now on the site's tokens open nothing here, and nobody signs in with it."""
    Reader.objects.filter(pk=reader.pk).update(me="", verified_at=None, endpoints={}, micropub={})
    reader.refresh_from_db()


def reader_with_site(me: str) -> Reader | None:
    """Whose site this is, if they may read here."""
    reader = Reader.objects.select_related("user").filter(me=me).exclude(me="").first()
    return reader if reader is not None and may_read(reader) else None
