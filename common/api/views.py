import json
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any, ClassVar, NoReturn

from django.db import transaction
from django.db.models import Model, Q, QuerySet
from django.utils.http import parse_etags
from rest_framework import status
from rest_framework.exceptions import APIException, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.utils.encoders import JSONEncoder
from rest_framework.views import APIView
from rest_framework.viewsets import GenericViewSet

from common.api.bodies import LARGEST_BODY, Fields, Parameters, read_parameters
from common.api.pagination import ByKey, ListParameters
from common.api.problems import WrongParameters
from common.body_limits import takes_body
from common.ports.panels import CannotAct


class PreconditionFailed(APIException):
    status_code = status.HTTP_412_PRECONDITION_FAILED
    default_detail = "It was changed meanwhile: get it again, and compare."


def etag_of(data: Any) -> str:
    """Return a strong entity tag (RFC 9110 §8.8.3)."""
    text = json.dumps(data, cls=JSONEncoder, sort_keys=True)
    return f'"{sha256(text.encode()).hexdigest()[:32]}"'


class ApiView(APIView):
    """`area` is the first half of its scopes; `refusals` are what services raise with a sentence (409)."""

    area: ClassVar[str] = ""
    # By action; without an entry, none is accepted.
    parameters: ClassVar[Mapping[str, type[Parameters]]] = {}
    bodies: ClassVar[Mapping[str, type[Fields]]] = {}
    refusals: ClassVar[tuple[type[Exception], ...]] = (CannotAct,)
    action: str = ""
    asked: dict[str, Any]
    rate_headers: Mapping[str, str] = {}

    @classmethod
    def as_view(cls, *args: Any, **kwargs: Any) -> Any:
        return takes_body(LARGEST_BODY)(super().as_view(*args, **kwargs))

    def perform_authentication(self, request: Request) -> None:
        try:
            super().perform_authentication(request)
        except APIException:
            self.check_throttles(request)
            raise

    def permission_denied(self, request: Request, message: Any = None, code: Any = None) -> NoReturn:
        if request.auth is None and not request.user.is_authenticated:
            # DRF does not throttle requests that it rejects.
            self.check_throttles(request)
        super().permission_denied(request, message, code)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if not self.action:
            return
        try:
            self.asked = read_parameters(self.parameters.get(self.action, Parameters), request.query_params)
        except ValidationError as error:
            raise WrongParameters(error.detail) from error

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        answer = super().finalize_response(request, response, *args, **kwargs)
        # Nearly all data is personal.
        answer.headers.setdefault("Cache-Control", "no-store")
        for name, value in self.rate_headers.items():
            answer.headers[name] = value
        return answer

    def options(self, request: Any, *args: Any, **kwargs: Any) -> Response:
        return Response(status=status.HTTP_204_NO_CONTENT)

    def body(self) -> dict[str, Any]:
        """Raises ValidationError."""
        kind = self.bodies[self.action]
        given = kind(data=self.request.data, partial=self.request.method == "PATCH")
        given.is_valid(raise_exception=True)
        values: dict[str, Any] = given.validated_data
        return values


class ResourceViewSet(ApiView, GenericViewSet[Any]):
    """A list by pages and one of it. `filters` maps a parameter to the lookup it means."""

    pagination_class = ByKey
    parameters: ClassVar[Mapping[str, type[Parameters]]] = {"list": ListParameters}
    filters: ClassVar[Mapping[str, str]] = {}
    # Field for `created_after` and `created_before`.
    made_at: ClassVar[str] = "created_at"
    search_in: ClassVar[tuple[str, ...]] = ()
    lookup_value_regex = "[0-9]{1,18}"

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
        asked = self.asked
        chosen = {lookup: asked[name] for name, lookup in self.filters.items() if name in asked}
        rows = rows.filter(**chosen) if chosen else rows
        for name, lookup in (("created_after", "gte"), ("created_before", "lt")):
            if name in asked:
                rows = rows.filter(**{f"{self.made_at}__{lookup}": asked[name]})
        if text := asked.get("search"):
            condition = Q()
            for field in self.search_in:
                condition |= Q((f"{field}__icontains", text))
            rows = rows.filter(condition)
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
