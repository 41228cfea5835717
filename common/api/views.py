"""What every endpoint shares: tokens and staff only, throttled, known parameters and fields only."""

from collections.abc import Mapping
from typing import Any, ClassVar, NoReturn

from django.db.models import Model, Q, QuerySet
from rest_framework import status
from rest_framework.exceptions import APIException, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.views import APIView
from rest_framework.viewsets import GenericViewSet

from common.api.bodies import LARGEST_BODY, Fields, Parameters, read_parameters
from common.api.pagination import ByKey, ListParameters
from common.api.problems import WrongParameters
from common.body_limits import takes_body
from common.ports.panels import CannotAct


class ApiView(APIView):
    """`area` is the first half of its scopes; `refusals` are what services raise with a sentence (409)."""

    area: ClassVar[str] = ""
    # Action → what it takes. Those without an entry take nothing.
    parameters: ClassVar[Mapping[str, type[Parameters]]] = {}
    bodies: ClassVar[Mapping[str, type[Fields]]] = {}
    refusals: ClassVar[tuple[type[Exception], ...]] = (CannotAct,)
    # View sets have their own.
    action: str = ""
    asked: dict[str, Any]

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
            # DRF counts only requests that it lets in.
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

    def options(self, request: Any, *args: Any, **kwargs: Any) -> Response:
        return Response(status=status.HTTP_204_NO_CONTENT)

    def body(self) -> dict[str, Any]:
        """The request's body, as values. Raises ValidationError."""
        kind = self.bodies[self.action]
        given = kind(data=self.request.data, partial=self.request.method == "PATCH")
        given.is_valid(raise_exception=True)
        found: dict[str, Any] = given.validated_data
        return found


class ResourceViewSet(ApiView, GenericViewSet[Any]):
    """A list by pages and one of it. `filters` maps a parameter to the lookup it means."""

    pagination_class = ByKey
    parameters: ClassVar[Mapping[str, type[Parameters]]] = {"list": ListParameters}
    filters: ClassVar[Mapping[str, str]] = {}
    search_in: ClassVar[tuple[str, ...]] = ()
    lookup_value_regex = "[0-9]{1,18}"

    def list(self, request: Request) -> Response:
        """By pages, each with links to the next and the previous one. Filters narrow together."""
        page = self.paginate_queryset(self.narrowed(self.get_queryset()))
        return self.get_paginated_response(self.get_serializer(page, many=True).data)

    def retrieve(self, request: Request, **_: Any) -> Response:
        """As it is now."""
        return self.shown()

    def narrowed(self, rows: "QuerySet[Any]") -> "QuerySet[Any]":
        """The rows that the parameters ask for."""
        asked = self.asked
        chosen = {lookup: asked[name] for name, lookup in self.filters.items() if name in asked}
        rows = rows.filter(**chosen) if chosen else rows
        if text := asked.get("search"):
            found = Q()
            for field in self.search_in:
                found |= Q((f"{field}__icontains", text))
            rows = rows.filter(found)
        return rows

    def shown(self, pk: Any = None, *, code: int = status.HTTP_200_OK) -> Response:
        """One of them as it is now: that of the address, or that of a key."""
        row = self.get_queryset().get(pk=pk) if pk is not None else self.get_object()
        answer = Response(self.get_serializer(row).data, status=code)
        if code == status.HTTP_201_CREATED:
            answer["Location"] = self.address_of(row)
        return answer

    def address_of(self, row: Model) -> str:
        key = {self.lookup_url_kwarg or self.lookup_field: getattr(row, self.lookup_field)}
        # The slash at its end is optional, and `reverse` leaves it out.
        return reverse(f"{self.basename}-detail", kwargs=key, request=self.request).rstrip("/") + "/"
