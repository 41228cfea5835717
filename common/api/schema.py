"""OpenAPI description of `ApiView`."""

import inspect
from collections.abc import Mapping
from functools import partial
from typing import Any

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse, extend_schema_serializer
from rest_framework import serializers

from common.api.fields import Fields, Parameters
from common.api.problems import MEDIA_TYPE
from common.api.resources import ResourceViewSet
from common.api.views import ApiView

EXAMPLE = {
    "type": "about:blank",
    "title": "Unprocessable Content",
    "status": 422,
    "detail": "time_zone: There is no time zone “Mars/Olympus”. Use one such as Europe/Paris.",
    "errors": [
        {
            "field": "time_zone",
            "pointer": "#/time_zone",
            "detail": "There is no time zone “Mars/Olympus”. Use one such as Europe/Paris.",
        }
    ],
}
HEADER = partial(OpenApiParameter, location=OpenApiParameter.HEADER)
HEADERS = (
    HEADER("Retry-After", int, response=["429", "503"], description="Seconds to wait."),
    HEADER("WWW-Authenticate", str, response=["401"], description="RFC 6750, 3."),
)
RATES = tuple(
    HEADER(f"RateLimit-{name}", int, response=True, description=words)
    for name, words in (
        ("Limit", "Requests that the token or client may make in the present window."),
        ("Remaining", "Requests that are left."),
        ("Reset", "Seconds until the next window begins."),
    )
)
ETAG = HEADER("ETag", str, response=["200"], description="Changes with the object.")
IF_NONE_MATCH = HEADER("If-None-Match", str, description="The ETag that you have: 304 if it is the same.")
IF_MATCH = HEADER("If-Match", str, description="The ETag that you have: 412 if it is another by now.")
# Otherwise it would be described as a string of digits.
KEY = OpenApiParameter("id", {"type": "integer", "minimum": 1, "maximum": 10**18 - 1}, OpenApiParameter.PATH)
LOCATION = HEADER(
    "Location", OpenApiTypes.URI, response=["201"], description="The address of the new resource."
)
PROBLEMS: Mapping[str, str] = {
    "400": "The request is not as described here; `errors` says where.",
    "401": "There is no token, or none that is good.",
    "403": "The token lacks the scope, or the account the permission.",
    "404": "There is no such thing.",
    "406": "Only JSON is given.",
    "304": "It is still the one that has this ETag.",
    "412": "It is no longer the one that has this ETag.",
    "409": "It cannot be done as things are; `detail` says why.",
    "413": "The body is too large.",
    "415": "Only JSON is taken.",
    "422": "Well-formed, but not possible; `errors` says which field and why.",
    "429": "Too many requests; Retry-After says how many seconds to wait.",
    "503": "The database or a service is away; Retry-After says how many seconds to wait.",
}


class ErrorSerializer(serializers.Serializer[Any]):
    """One thing that is wrong."""

    field = serializers.CharField(required=False, help_text="Which field, such as to.email.")
    pointer = serializers.CharField(
        required=False, help_text="Where it is in the body (RFC 6901), such as #/to/email."
    )
    parameter = serializers.CharField(required=False, help_text="Which query parameter, such as state.")
    detail = serializers.CharField(help_text="What is wrong, in a sentence.")


@extend_schema_serializer(
    component_name="Problem",
    examples=[OpenApiExample("What a service refuses", EXAMPLE, status_codes=["422"])],
)
class ProblemSerializer(serializers.Serializer[Any]):
    """RFC 9457."""

    type = serializers.CharField(help_text="about:blank: the status says what kind of problem it is.")
    title = serializers.CharField(help_text="The status in words.")
    status = serializers.IntegerField()
    detail = serializers.CharField(help_text="What is wrong and what to do, for people.")
    errors: Any = ErrorSerializer(many=True, required=False)


class Schema(AutoSchema):
    def get_override_parameters(self) -> list[Any]:
        if not isinstance(self.view, ApiView):
            return [HEADERS[0]]
        parameters: list[Any] = [*HEADERS, *RATES, LOCATION, *([KEY] if "{id}" in self.path else [])]
        if self._action == "retrieve":
            parameters += [ETAG, IF_NONE_MATCH]
        if self._has_if_match():
            parameters.append(IF_MATCH)
        kind = self.view.parameters.get(self._action, Parameters)
        return [kind, *parameters] if kind is not Parameters else parameters

    def _has_if_match(self) -> bool:
        return isinstance(self.view, ResourceViewSet) and self._action in ("partial_update", "destroy")

    def get_request_serializer(self) -> Any:
        if not isinstance(self.view, ApiView):
            return super().get_request_serializer()
        return self.view.bodies.get(self._action)

    def get_summary(self) -> str | None:
        if self._action not in ("list", "retrieve") or not isinstance(self.view, ApiView):
            return super().get_summary()
        things = self.get_tags()[0]
        return f"List {things}" if self._action == "list" else f"Read one of the {things}"

    def get_description(self) -> str:  # type: ignore[override] # as drf-spectacular's
        # Class docstrings are about the code.
        method = getattr(self.view, self._action or "post", None)
        return inspect.cleandoc(getattr(method, "__doc__", "") or "")

    def get_response_serializers(self) -> Any:
        if self._action == "destroy":
            return {204: OpenApiResponse(description="It is gone.")}
        return super().get_response_serializers()

    @property
    def _action(self) -> str:
        return str(getattr(self.view, "action", "") or "")

    def _get_response_bodies(self, direction: Any = "response") -> Any:
        bodies = super()._get_response_bodies(direction)
        if isinstance(self.view, ApiView):
            codes = ["400", "401", "403", "406", "429", "503"]
            if "{" in self.path:
                codes.append("404")
            if self.method in ("POST", "PATCH", "DELETE"):
                codes.append("409")
            if self._action == "retrieve" and isinstance(self.view, ResourceViewSet):
                codes.append("304")
            if self._has_if_match():
                codes.append("412")
            if self._action in self.view.bodies:
                codes += ["413", "415", "422"]
            bodies = {code: {} for code in codes} | bodies
        if "304" in bodies:
            bodies["304"] = {"description": PROBLEMS["304"]}
        for code in [code for code in bodies if code >= "400" and "content" not in bodies[code]]:
            description = bodies[code].get("description") or PROBLEMS.get(code, "")
            problem = OpenApiResponse(ProblemSerializer, description=description)
            bodies[code] = self._get_response_for_code(problem, code, [MEDIA_TYPE])  # type: ignore[no-untyped-call]
        return dict(sorted(bodies.items()))

    def _map_basic_serializer(self, serializer: Any, direction: Any) -> Any:
        schema: Any = super()._map_basic_serializer(serializer, direction)  # type: ignore[no-untyped-call]
        if isinstance(serializer, Fields):
            schema["additionalProperties"] = False
        return schema
