import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, ClassVar, NoReturn

from rest_framework import status
from rest_framework.exceptions import APIException, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.encoders import JSONEncoder
from rest_framework.views import APIView

from common.api.fields import LARGEST_BODY, Fields, Parameters, read_parameters
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
