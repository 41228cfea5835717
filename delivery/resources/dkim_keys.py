"""DKIM keys: what can be done with them in the admin."""

from collections.abc import Sequence
from datetime import datetime

from django.db.models import QuerySet

from common.ports.panels import CannotAct
from common.resources import ADMIN, Resource, verb
from common.text import pluralize
from delivery.accounts.dkim_keys import activate_key, delete_retired, retire_key
from delivery.doctor.check import look_up
from delivery.models import DkimKey


def asks_to_activate(keys: Sequence[DkimKey]) -> list[str]:
    """Say whether the records are published."""
    said = []
    for key in keys:
        found = look_up(key)
        said.append(f"The key {key.selector} of {key.domain}: {found.says}")
        if not found.is_good:
            said.append("Emails would count as unsigned until then. Publish the record first.")
    return said


def asks_to_retire(keys: Sequence[DkimKey]) -> list[str]:
    return [
        f"Emails from {key.domain} will no longer be signed with {key.selector}. Without another key, large "
        "providers may refuse them."
        for key in keys
        if key.active
    ] or ["None of these keys is used for signing now."]


def asks_about_keys(keys: Sequence[DkimKey]) -> list[str]:
    count = sum(key.retired_at is not None for key in keys)
    return [f"{pluralize(count, 'retired key')} will be deleted for good, the private part included."]


class DkimKeys(Resource[DkimKey]):
    noun = "DKIM key"

    def rows(self) -> "QuerySet[DkimKey]":
        return DkimKey.objects.all()

    # Only one key per domain and algorithm can sign.
    @verb("Start signing", on=(ADMIN,), fits=lambda key: not key.active, asks=asks_to_activate, most=1)
    def activate(self, key: DkimKey, *, now: datetime) -> str:
        activate_key(key, now=now)
        return f"{key} will start signing within a minute. The previous key is retired."

    @verb(
        "Retire", on=(ADMIN,), fits=lambda key: key.state != "retired", asks=asks_to_retire, is_harmful=True
    )
    def retire(self, key: DkimKey, *, now: datetime) -> str:
        retire_key(key, now=now)
        return f"{key} is retired. Keep its record for a week."

    @verb(
        "Delete",
        on=(ADMIN,),
        fits=lambda key: key.state == "retired",
        asks=asks_about_keys,
        is_harmful=True,
        permission="drop",
    )
    def drop(self, key: DkimKey) -> str:
        if not delete_retired([key.pk]):
            raise CannotAct("Only retired keys can be deleted.")
        return f"{key} is deleted."


dkim_keys = DkimKeys()
