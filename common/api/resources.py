import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, ClassVar

from django.db import transaction
from django.db.models import Model, QuerySet
from django.utils.http import parse_etags
from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.exceptions import ValidationError
from rest_framework.pagination import Cursor, CursorPagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.utils.urls import replace_query_param
from rest_framework.viewsets import GenericViewSet

from common.api.fields import Choice, Fields, Flag, Moment, Parameters, Pattern, StrictInteger, Text
from common.api.views import ApiView, PreconditionFailed, etag_of
from common.clock import utcnow
from common.resources import API, CLICK_BUDGET, Filter, Given, Resource, Verb

KINDS: Mapping[type, type[serializers.Field[Any, Any, Any, Any]]] = {
    bool: Flag,
    datetime: Moment,
    int: StrictInteger,
    str: Text,
}
USUAL, MOST = 100, 1000
CURSOR = r"^[ab][0-9]{1,18}$"


class ListParameters(Parameters):
    """Parameters of every list."""

    cursor = Pattern(
        CURSOR,
        "This is no cursor. Follow the links next and previous.",
        required=False,
        help_text="Start of the page. Use the links next and previous.",
    )
    page_size = StrictInteger(
        min_value=1, max_value=MOST, default=USUAL, help_text="How many at once.", required=False
    )
    ordering = Choice(
        choices=("id", "-id"), default="id", required=False, help_text="-id puts the newest first."
    )
    created_after = Moment(required=False, help_text="Only rows created at this time or later.")
    created_before = Moment(required=False, help_text="Only rows created before this time.")
    count = Flag(
        default=False, required=False, help_text="Also say how many there are in all. Slow for very many."
    )


class ByKey(CursorPagination):
    """Equally fast on all pages, and stable while rows change.

    A cursor is "a" or "b" (after, before) and the key of a row.
    """

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> Any:
        self.page_size = view.asked["page_size"]
        self.ordering = view.asked["ordering"]
        self.count = queryset.count() if view.asked["count"] else None
        return super().paginate_queryset(queryset, request, view=view)

    def get_paginated_response(self, data: Any) -> Response:
        answer = super().get_paginated_response(data)
        if self.count is not None:
            answer.data = {"count": self.count, **answer.data}
        return answer

    def get_page_size(self, request: Request) -> int | None:
        return self.page_size

    def decode_cursor(self, request: Request) -> Any:
        text = request.query_params.get("cursor")
        if text is None:
            return None
        if not re.fullmatch(CURSOR.strip("^$"), text):
            raise ValidationError({"cursor": ["This is no cursor."]})
        return Cursor(offset=0, reverse=text[0] == "b", position=int(text[1:]))

    def encode_cursor(self, cursor: Any) -> str:
        text = f"{'b' if cursor.reverse else 'a'}{cursor.position}"
        return replace_query_param(self.base_url or "", "cursor", text)

    def get_paginated_response_schema(self, schema: Any) -> Any:
        link = {"type": ["string", "null"], "format": "uri"}
        return {
            "type": "object",
            "required": ["next", "previous", "results"],
            "properties": {
                "count": {"type": "integer", "description": "How many there are in all, if asked for."},
                "next": link,
                "previous": link,
                "results": schema,
            },
        }

    def get_schema_operation_parameters(self, view: Any) -> Any:
        """ListParameters describes them."""
        return []


class ResourceViewSet(ApiView, GenericViewSet[Any]):
    """The rows of a resource: a list by pages, one of it, and an action for each verb, or DELETE."""

    pagination_class = ByKey
    resource: ClassVar[Resource[Any]]
    lookup_value_regex = "[0-9]{1,18}"

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.queryset is None:
            cls.queryset = cls.resource.rows()
        bodies: dict[str, Any] = dict(cls.bodies)
        parameters: dict[str, Any] = {**cls.parameters, "list": parameters_of(cls.resource)}
        for verb in cls.resource.verbs(API):
            given = verb.given(API)
            if verb.deletes:
                cls.destroy = destroy_of(cls.resource, verb)  # type: ignore[attr-defined]
                if given:
                    parameters["destroy"] = fields_of(verb, given, Parameters, "")
                continue
            setattr(cls, verb.name, api_action(cls.resource, verb))
            if given:
                needed = any(each.is_required for each in given)
                bodies[verb.name] = fields_of(verb, given, Fields, "" if needed else "Nothing is needed.")
        cls.bodies, cls.parameters = bodies, parameters

    def list(self, request: Request) -> Response:
        """In pages, with links to the next and the previous one. Filters can be combined."""
        page = self.paginate_queryset(self.narrowed(self.get_queryset()))
        return self.get_paginated_response(self.get_serializer(page, many=True).data)

    def retrieve(self, request: Request, **_: Any) -> Response:
        """With If-None-Match, 304 if nothing has changed."""
        answer = self.shown()
        known = parse_etags(request.headers.get("If-None-Match", ""))
        if "*" in known or answer.headers["ETag"] in (tag.removeprefix("W/") for tag in known):
            unchanged = Response(status=status.HTTP_304_NOT_MODIFIED)
            unchanged["ETag"] = answer.headers["ETag"]
            return unchanged
        return answer

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if self.detail and request.method in ("PATCH", "DELETE") and "If-Match" in request.headers:
            name = request.method.lower()
            setattr(self, name, self._if_match(getattr(self, name), request.headers["If-Match"]))

    def _if_match(self, change: Callable[..., Response], header: str) -> Callable[..., Response]:
        """Wrap the change: it requires that the row has this ETag (RFC 9110 §13.1.1)."""

        def changed(request: Request, *args: Any, **kwargs: Any) -> Response:
            with transaction.atomic():
                row = self.get_object()
                # Concurrent requests wait here, and then find another tag.
                type(row)._base_manager.select_for_update().filter(pk=row.pk).first()
                tag = etag_of(self.get_serializer(self.get_object()).data)
                if "*" not in (known := parse_etags(header)) and tag not in known:
                    raise PreconditionFailed
                return change(request, *args, **kwargs)

        return changed

    def narrowed(self, rows: "QuerySet[Any]") -> "QuerySet[Any]":
        asked, resource = self.asked, self.resource
        for each in resource.filters:
            if (name := each.api or each.name) in asked and API in each.on:
                rows = each.applied(rows, asked[name])
        for name, lookup in (("created_after", "gte"), ("created_before", "lt")):
            if name in asked:
                rows = rows.filter(**{f"{resource.made_at}__{lookup}": asked[name]})
        return rows

    def shown(self, pk: Any = None, *, code: int = status.HTTP_200_OK) -> Response:
        """Serialize one row, looked up by URL or by primary key."""
        row = self.get_queryset().get(pk=pk) if pk is not None else self.get_object()
        data = self.get_serializer(row).data
        answer = Response(data, status=code)
        answer["ETag"] = etag_of(data)
        if code == status.HTTP_201_CREATED:
            answer["Location"] = self.address_of(row)
        return answer

    def address_of(self, row: Model) -> str:
        key = {self.lookup_url_kwarg or self.lookup_field: getattr(row, self.lookup_field)}
        # The URL pattern's final slash is optional, so `reverse` omits it.
        return reverse(f"{self.basename}-detail", kwargs=key, request=self.request).rstrip("/") + "/"


def parameters_of(resource: Resource[Any]) -> type[Parameters]:
    filters = (each for each in resource.filters if API in each.on)
    fields: dict[str, Any] = {each.api or each.name: parameter_of(each) for each in filters}
    return type("Listed", (ListParameters,), fields)


def parameter_of(given: Filter) -> serializers.Field[Any, Any, Any, Any]:
    more: dict[str, Any] = {"required": False, "help_text": given.help}
    if given.choices:
        return Choice(choices=given.choices, **more)
    if given.kind is str:
        more |= {"min_length": 1, "max_length": given.longest}
    return KINDS[given.kind](**more)


def destroy_of(resource: Resource[Any], verb: Verb) -> Any:
    def destroy(view: ResourceViewSet, request: Request, **_: Any) -> Response:
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


def api_action(resource: Resource[Any], verb: Verb) -> Any:
    def act(view: ResourceViewSet, request: Request, **_: Any) -> Response:
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
    fields: dict[str, Any] = {each.name: body_field(each) for each in given}
    return type(camel(verb.command), (kind,), {"__doc__": doc, **fields})


def body_field(given: Given) -> serializers.Field[Any, Any, Any, Any]:
    more: dict[str, Any] = {"max_length": given.argument.longest} if given.kind is str else {}
    return KINDS[given.kind](required=given.is_required, help_text=given.argument.help, **more)


def camel(name: str) -> str:
    return "".join(map(str.capitalize, name.split("_")))
