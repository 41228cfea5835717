"""Actions of the API made from the verbs of a resource."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from common.api.bodies import Fields, Parameters
from common.api.fields import Flag, Moment, StrictInteger, Text
from common.api.views import ResourceViewSet
from common.clock import utcnow
from common.resources import API, CLICK_BUDGET, Given, Resource, Verb


class VerbViewSet(ResourceViewSet):
    """A view set whose `resource` gives it its rows, and an action for each verb, or DELETE."""

    resource: ClassVar[Resource[Any]]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.queryset is None:
            cls.queryset = cls.resource.rows()
        bodies, parameters = dict(cls.bodies), dict(cls.parameters)
        for verb in cls.resource.verbs(API):
            given = verb.given(API)
            if verb.deletes:
                cls.destroy = destroy_of(cls.resource, verb)  # type: ignore[attr-defined]
                if given:
                    parameters["destroy"] = fields_of(verb, given, Parameters, "")
                continue
            setattr(cls, verb.name, action_of(cls.resource, verb))
            if given:
                needed = any(each.is_required for each in given)
                bodies[verb.name] = fields_of(verb, given, Fields, "" if needed else "Nothing is needed.")
        cls.bodies, cls.parameters = bodies, parameters


def destroy_of(resource: Resource[Any], verb: Verb) -> Any:
    def destroy(view: VerbViewSet, request: Request, **_: Any) -> Response:
        row = view.get_object()
        pk, done = row.pk, verb.run(resource, row, view.asked, now=utcnow(), budget=CLICK_BUDGET, by=API)
        if resource.rows().filter(pk=pk).exists():
            return Response({"detail": done.sentence}, status=status.HTTP_202_ACCEPTED)
        return Response(status=status.HTTP_204_NO_CONTENT)

    schema = described(verb, destroy)
    if status.HTTP_202_ACCEPTED in verb.deletes:
        later = inline_serializer("DroppedLater", {"detail": serializers.CharField()})
        schema["responses"] = {202: later, 204: None}
    return extend_schema(**schema)(destroy)


def action_of(resource: Resource[Any], verb: Verb) -> Any:
    def act(view: VerbViewSet, request: Request, **_: Any) -> Response:
        given = view.body() if verb.name in view.bodies else {}
        row = view.get_object()
        done = verb.run(resource, row, given, now=utcnow(), budget=CLICK_BUDGET, by=API)
        return Response(done.numbers) if verb.numbers else view.shown()

    act.__name__ = verb.name
    schema = described(verb, act)
    if not verb.given(API):
        schema["request"] = None
    if verb.numbers:
        fields: dict[str, Any] = {
            name: serializers.IntegerField(help_text=text) for name, text in verb.numbers.items()
        }
        schema["responses"] = inline_serializer(f"{camel(verb.command)}Done", fields)
    made = action(detail=True, methods=["post"], url_path=verb.name.replace("_", "-"))(act)
    return extend_schema(**schema)(made)


def described(verb: Verb, method: Any) -> dict[str, Any]:
    summary, _, method.__doc__ = verb.help.partition(". ")
    return {"summary": summary.removesuffix(".")}


def fields_of(verb: Verb, given: list[Given], kind: type[Fields], doc: str) -> type[Any]:
    fields: dict[str, Any] = {each.name: field_of(each) for each in given}
    return type(camel(verb.command), (kind,), {"__doc__": doc, **fields})


def field_of(given: Given) -> serializers.Field[Any, Any, Any, Any]:
    kinds: Mapping[type, type[serializers.Field[Any, Any, Any, Any]]] = {
        bool: Flag,
        datetime: Moment,
        int: StrictInteger,
        str: Text,
    }
    more: dict[str, Any] = {"max_length": given.argument.longest} if given.kind is str else {}
    return kinds[given.kind](required=given.is_required, help_text=given.argument.help, **more)


def camel(name: str) -> str:
    return "".join(map(str.capitalize, name.split("_")))
