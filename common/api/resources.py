"""Actions of the API made from the verbs of a resource."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from common.api.bodies import Fields
from common.api.fields import Flag, Moment, StrictInteger, Text
from common.api.views import ResourceViewSet
from common.clock import utcnow
from common.resources import API, CLICK_BUDGET, Given, Resource, Verb


class VerbViewSet(ResourceViewSet):
    """A view set whose `resource` gives it its rows, and an action for each verb."""

    resource: ClassVar[Resource[Any]]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.queryset is None:
            cls.queryset = cls.resource.rows()
        bodies = dict(cls.bodies)
        for verb in cls.resource.verbs(API):
            setattr(cls, "destroy" if verb.name == "drop" else verb.name, action_of(cls.resource, verb))
            if given := verb.given(API):
                bodies[verb.name] = body_of(verb, given)
        cls.bodies = bodies


def action_of(resource: Resource[Any], verb: Verb) -> Any:
    def act(view: VerbViewSet, request: Request, **_: Any) -> Response:
        given = view.body() if verb.name in view.bodies else {}
        row = view.get_object()
        done = verb.run(resource, row, given, now=utcnow(), budget=CLICK_BUDGET)
        if verb.name == "drop":
            return Response(status=status.HTTP_204_NO_CONTENT)
        return Response(done.numbers) if verb.numbers else view.shown()

    act.__name__ = verb.name
    summary, _, description = verb.help.partition(". ")
    act.__doc__ = description
    schema: dict[str, Any] = {"summary": summary.removesuffix(".")}
    if verb.name == "drop":
        act.__name__ = "destroy"
        return extend_schema(**schema)(act)
    if not verb.given(API):
        schema["request"] = None
    if verb.numbers:
        fields: dict[str, Any] = {
            name: serializers.IntegerField(help_text=text) for name, text in verb.numbers.items()
        }
        schema["responses"] = inline_serializer(f"{camel(verb.command)}Done", fields)
    made = action(detail=True, methods=["post"], url_path=verb.name.replace("_", "-"))(act)
    return extend_schema(**schema)(made)


def body_of(verb: Verb, given: list[Given]) -> type[Fields]:
    needed = any(each.is_required for each in given)
    fields: dict[str, Any] = {each.name: field_of(each) for each in given}
    return type(camel(verb.command), (Fields,), {"__doc__": "" if needed else "Nothing is needed.", **fields})


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
