"""A site with a row in every table that an export has."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.contrib.auth.models import Permission
from django.db import models

from common.secrets import SecretsField
from feedletter_site.export.parts import EXPORTED_PARTS
from tests.factories import (
    NOW,
    AssignmentFactory,
    DeliveryFactory,
    DestinationFactory,
    IssueItemFactory,
    SubscriptionFactory,
    an_entry,
)

LINE_ENDS = "two\nlines, a \u2028, a “quote”, ünï and <b>"
# Values that pass checks and constraints.
OWN: dict[str, dict[str, Any]] = {
    "feeds.Item": {"entry": an_entry(9).to_json()},
    "subscriptions.Subscribable": {"cron": ""},
    "subscriptions.Assignable": {"period_end": NOW + timedelta(days=1)},
    "subscriptions.FrequencyChange": {"at": NOW},
    "delivery.DkimKey": {"active": False},
    "delivery.IssueItem": {"entry": an_entry(8).to_json(), "position": 7},
}


def whole_site() -> None:
    """Each table has a row of strange values, some have others that belong together."""
    subscription = SubscriptionFactory(display_name=LINE_ENDS)
    item = IssueItemFactory(issue__subscribable=subscription.subscribable, issue__published_at=NOW)
    for state in ("sent", "queued", "failed"):
        DeliveryFactory(issue=item.issue, state=state, sent_at=NOW if state == "sent" else None)
    leased = {"lease_token": UUID(int=7), "lease_until": NOW}
    DeliveryFactory(issue=item.issue, state="sending", **leased)
    AssignmentFactory(assignable__subscribable=subscription.subscribable)
    DestinationFactory(kind="mastodon", secrets={"access_token": "kept secret"})
    for part in EXPORTED_PARTS:
        fields = filter(is_given, part.model._meta.concrete_fields)
        row = {field.name: strange(field) for field in fields} | OWN.get(part.label, {})
        part.model(**row).save(force_insert=True)


def is_given(field: "models.Field[Any, Any]") -> bool:
    return not isinstance(field, models.AutoField) and not field.name.startswith(("lease_", "seal_"))


def strange(field: "models.Field[Any, Any]") -> Any:
    if isinstance(field, models.ForeignKey):
        target: Any = field.related_model
        rows = target._base_manager.order_by("-pk")
        return rows.first() if target is not Permission else rows.order_by("pk")[11]
    if isinstance(field, SecretsField):
        return {"token": "kept secret"}
    if field.choices:
        return field.get_default() or next(iter(field.flatchoices))[0]
    if isinstance(field, models.JSONField):
        return field.get_default() or {"b": [1.5, None, True], "a": LINE_ENDS}
    if isinstance(field, models.BinaryField):
        return b"\0\xff"
    if isinstance(field, models.DateTimeField):
        return NOW + timedelta(microseconds=1)
    if isinstance(field, models.CharField):
        return field.get_default() or f"{field.name}-é"[: field.max_length]
    if isinstance(field, models.TextField):
        return field.get_default() or LINE_ENDS
    return field.get_default() or (None if field.null else 1)
