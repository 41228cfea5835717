from collections import defaultdict
from contextlib import suppress
from typing import Any, ClassVar

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.exceptions import APIException
from rest_framework.request import Request
from rest_framework.response import Response

from common.api.problems import Conflict, InvalidRequest, problem_sentence, translated
from common.api.resources import ResourceViewSet
from common.clock import utcnow
from common.ports import channels
from common.ports.channels import InvalidDestination
from common.refused import Refused
from subscriptions.api import bodies
from subscriptions.api.bodies import SubscriptionSerializer
from subscriptions.models import Destination, Subscribable, Subscription, Suppression
from subscriptions.resources.subscribers import subscribers
from subscriptions.rules.switches import BadDate
from subscriptions.rules.tags import tidy_tags
from subscriptions.subscribers.admin_changes import add_subscriber, pause, resume, save_details, subscribe_new
from subscriptions.subscribers.bulk import confirm_many
from subscriptions.subscribers.leave import leave
from subscriptions.subscribers.tags import tag_people


class AddedSerializer(serializers.Serializer[Any]):
    """Result for one of several."""

    status = serializers.IntegerField(
        help_text="201 if new, 200 if it existed already, otherwise the status of a single request."
    )
    id = serializers.IntegerField(allow_null=True, help_text="Of the subscription.")
    detail = serializers.CharField(help_text="Why it was not added.")


class SubscriptionViewSet(ResourceViewSet):
    area = "subscribers"
    resource = subscribers
    serializer_class = SubscriptionSerializer
    bodies: ClassVar = {
        "create": bodies.AddSubscription,
        "bulk": bodies.AddSubscriptions,
        "partial_update": bodies.ChangeSubscription,
        "pause": bodies.PauseSubscription,
    }

    @extend_schema(
        summary="Add a subscriber", responses={200: SubscriptionSerializer, 201: SubscriptionSerializer}
    )
    def create(self, request: Request) -> Response:
        """Safe to repeat: who is there already stays as they are and is not asked again; the answer is 200
        then. Who had left is taken back."""
        made, is_new = add(self.body())
        return self.shown(made.pk, code=status.HTTP_201_CREATED if is_new else status.HTTP_200_OK)

    @extend_schema(summary="Add several subscribers", responses={200: AddedSerializer(many=True)})
    @action(detail=False, methods=["post"], pagination_class=None)
    def bulk(self, request: Request) -> Response:
        """Each is added or refused independently. Results have the same order, each with the status that it
        would have had alone. For newsletters by email; safe to repeat."""
        asked = self.body()["subscriptions"]
        new = add_new(asked)
        return Response([new.get(place) or added(one) for place, one in enumerate(asked)])

    @extend_schema(summary="Change a subscriber")
    def partial_update(self, request: Request, **_: Any) -> Response:
        asked, row = self.body(), self.get_object()
        save_details(subscription=row, **asked)
        return self.shown()

    @extend_schema(summary="Confirm a subscriber", request=None)
    @action(detail=True, methods=["post"])
    def confirm(self, request: Request, **_: Any) -> Response:
        """You know of their consent in another way. 409 if they unsubscribed.
        A second time changes nothing."""
        row = self.get_object()
        if not confirm_many(keys=[row.pk], now=utcnow()) and row.status != Subscription.Status.CONFIRMED:
            raise Conflict(f"{row.destination} unsubscribed. Add them again if they ask for it.")
        return self.shown()

    @extend_schema(summary="Pause a subscription")
    @action(detail=True, methods=["post"])
    def pause(self, request: Request, **_: Any) -> Response:
        """Issues of this time are not sent later either."""
        try:
            pause(subscription=self.get_object(), until=self.body()["until"], now=utcnow())
        except BadDate as error:
            raise ValidationError({"until": "Give a day from tomorrow on, within a year."}) from error
        return self.shown()

    @extend_schema(summary="End a pause", request=None)
    @action(detail=True, methods=["post"])
    def resume(self, request: Request, **_: Any) -> Response:
        """The next issue is sent again. Without a pause nothing changes."""
        resume(subscription=self.get_object())
        return self.shown()

    @extend_schema(summary="End a subscription", request=None)
    @action(detail=True, methods=["post"])
    def unsubscribe(self, request: Request, **_: Any) -> Response:
        """Its row stays, so that an import does not take them back. A second time changes nothing."""
        leave(subscription=self.get_object(), now=utcnow())
        return self.shown()


def add(asked: dict[str, Any]) -> tuple[Subscription, bool]:
    """Return the subscriber, and whether it is new. Raises API errors."""
    newsletter = Subscribable.objects.filter(name=asked["subscribable"]).first()
    if newsletter is None:
        raise ValidationError({"subscribable": "There is no newsletter of this name."})
    # Before any write. It may ask the service, so there is no transaction.
    tags = tidy_tags(asked.get("tags", ()))
    try:
        made, is_new = add_subscriber(
            subscribable=newsletter,
            data=asked["to"],
            confirmed=asked["confirmed"],
            language=asked.get("language", ""),
            now=utcnow(),
        )
    except InvalidDestination as error:
        raise InvalidRequest({"to": at_its_field(str(error), asked["to"])}) from error
    if tags:
        tag_people(destinations=[made.destination_id], names=tags)
    return made, is_new


def add_new(asked: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """Add unknown addresses at once, and return results by place. `added` does the others."""
    named = Subscribable.objects.filter(channel="email").in_bulk(
        {one["subscribable"] for one in asked}, field_name="name"
    )
    wanted: dict[str, Any] = {}
    for place, one in enumerate(asked):
        with suppress(KeyError, Refused):
            newsletter, tags = named[one["subscribable"]], tidy_tags(one.get("tags", ()))
            parsed = channels.get("email").parse_destination(one["to"])
            wish = newsletter, parsed, one["confirmed"], one.get("language", "")
            wanted.setdefault(parsed.core, (place, tuple(tags), wish))
    for rows in (Destination.objects.all(), Suppression.objects.all()):
        for core in rows.filter(kind="email", core__in=wanted).values_list("core", flat=True):
            wanted.pop(core, None)
    # In an order, so that concurrent requests cannot deadlock.
    new = [wanted[core] for core in sorted(wanted)]
    try:
        with transaction.atomic():
            made = subscribe_new([wish for _, _, wish in new], now=utcnow())
            by_tags = defaultdict[tuple[str, ...], list[int]](list)
            for row, (_, tags, _) in zip(made, new, strict=True):
                by_tags[tags].append(row.destination_id)
            for tags, destinations in by_tags.items():
                tag_people(destinations=destinations, names=tags)
    except (IntegrityError, Refused):
        return {}
    results = [{"status": status.HTTP_201_CREATED, "id": row.pk, "detail": ""} for row in made]
    return dict(zip((place for place, _, _ in new), results, strict=True))


def added(asked: dict[str, Any]) -> dict[str, Any]:
    """Add one of several and return its result."""
    try:
        if Subscribable.objects.filter(name=asked["subscribable"]).exclude(channel="email").exists():
            raise InvalidRequest({"subscribable": ["It is not sent by email: add its readers one by one."]})
        made, is_new = add(asked)
    except (APIException, ValidationError, Refused) as error:
        known = translated(error)
        if not isinstance(known, APIException):
            raise
        return {"status": known.status_code, "id": None, "detail": problem_sentence(known)}
    return {"status": 201 if is_new else 200, "id": made.pk, "detail": ""}


def at_its_field(text: str, fields: dict[str, str]) -> Any:
    """Split off the field's name: "access_token: it is missing."."""
    field, colon, said = text.partition(": ")
    if colon and field.isidentifier():
        return {field: [said[:1].upper() + said[1:]]}
    return {next(iter(fields)): [text]} if len(fields) == 1 else [text]
