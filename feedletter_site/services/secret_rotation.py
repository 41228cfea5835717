from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from allauth.mfa.models import Authenticator
from django.apps import apps
from django.db import models, transaction

from common.secrets import Sealed, SecretsField, rotated
from delivery.letters.build import SEALED
from delivery.models import Delivery
from subscriptions.privacy.erase import keep_erasure_keys

ROWS_AT_ONCE = 500
# Encrypted values within other columns.
WITHIN_JSON: tuple[tuple[str, type[models.Model], str, str], ...] = (
    ("mail", Delivery, "context", SEALED),
    ("second factor", Authenticator, "data", "secret"),
    ("second factor", Authenticator, "data", "seed"),
)


@dataclass
class Rotation:
    rotated: int = 0
    current: int = 0
    unreadable: list[str] = field(default_factory=list)


def rotate_secrets(*, change: bool) -> Rotation:
    """Encrypt all stored secrets with SECRET_KEY, or only count them.

    Can be interrupted, repeated, and run beside workers: it changes few rows per transaction, and only
    unchanged ones.
    """
    if change:
        keep_erasure_keys()
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
    for name, model, within, key in WITHIN_JSON:
        stored = model._base_manager.filter(**{f"{within}__has_key": key})
        for pk, values in chain.from_iterable(_pieces(stored, within)):
            new = _counted(str(values[key]), f"{name} {pk}", done)
            if change and new:
                rows = model._base_manager.filter(pk=pk, **{within: values})
                rows.update(**{within: {**values, key: new}})
    return done


def _counted(token: str, name: str, done: Rotation) -> str:
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
    piece = list(rows.order_by("pk").values_list("pk", column)[:ROWS_AT_ONCE])
    while piece:
        yield piece
        piece = list(rows.filter(pk__gt=piece[-1][0]).order_by("pk").values_list("pk", column)[:ROWS_AT_ONCE])
