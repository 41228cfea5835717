"""Encrypts every stored secret with the newest SECRET_KEY, so that an earlier key reads none of them."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from django.apps import apps
from django.db import models, transaction

from common.secrets import Sealed, SecretsField, rotated
from delivery.letters.site_mail import SEALED
from delivery.models import Delivery

ROWS_AT_ONCE = 500


@dataclass
class Rotation:
    """Counts of secrets: encrypted anew, those that had the newest key, and rows that no key reads."""

    rotated: int = 0
    current: int = 0
    unreadable: list[str] = field(default_factory=list)


def rotate_secrets(*, change: bool) -> Rotation:
    """Encrypt anew what has an earlier key, or only count it.

    A transaction changes a bounded number of rows, and each only if nobody else has meanwhile. So this may be
    ended at any time, run again, and run while workers do.
    """
    done = Rotation()
    for model in apps.get_models():
        for column in model._meta.local_concrete_fields:
            if isinstance(column, SecretsField) and not model._meta.proxy:
                stored = model._base_manager.exclude(**{column.name: Sealed("")})
                for piece in _pieces(stored, column.name):
                    with transaction.atomic():
                        for pk, sealed in piece:
                            new = _counted(sealed.token, f"{model._meta.verbose_name} {pk}", done)
                            if change and new:
                                rows = model._base_manager.filter(pk=pk, **{column.name: sealed})
                                rows.update(**{column.name: Sealed(new)})
    # Links in the site's own mails to one person.
    mails = Delivery.objects.filter(kind=Delivery.Kind.ALERT, context__has_key=SEALED)
    for pk, context in chain.from_iterable(_pieces(mails, "context")):
        new = _counted(str(context[SEALED]), f"mail {pk}", done)
        if change and new:
            Delivery.objects.filter(pk=pk, context=context).update(context={**context, SEALED: new})
    return done


def _counted(token: str, name: str, done: Rotation) -> str:
    """Return the token's successor, or "" if it needs or has none."""
    try:
        new = rotated(token)
    except ValueError:
        done.unreadable.append(name)
        return ""
    if new == token:
        done.current += 1
        return ""
    done.rotated += 1
    return new


def _pieces(rows: "models.QuerySet[Any]", column: str) -> Iterator[list[tuple[Any, Any]]]:
    """Yield each row's key and that column, a bounded number of rows at a time."""
    piece = list(rows.order_by("pk").values_list("pk", column)[:ROWS_AT_ONCE])
    while piece:
        yield piece
        piece = list(rows.filter(pk__gt=piece[-1][0]).order_by("pk").values_list("pk", column)[:ROWS_AT_ONCE])
