"""Public sign-up. The response does not depend on what is known of the address."""

from typing import Any

from django.http import Http404
from django.utils.cache import patch_vary_headers
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers, status
from rest_framework.exceptions import APIException, PermissionDenied, Throttled, ValidationError
from rest_framework.parsers import FormParser, JSONParser, MultiPartParser
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import BaseThrottle
from rest_framework.views import APIView

from common.clock import utcnow
from common.languages import asked_for
from common.ports.channels import InvalidDestination
from common.rates import OverLimit
from subscriptions.models import Subscribable
from subscriptions.rules.embed_hosts import allowed
from subscriptions.rules.origin import How, Origin
from subscriptions.subscribers.antispam import is_solved
from subscriptions.subscribers.sign_up import SignUpClosed, is_by_code, sign_up
from subscriptions.views.pages import same_time

KEPT_SECONDS = 600
CHECK_YOUR_MAIL = _("Check your email. If the address can be subscribed, we’ve sent it a link to confirm.")
UNSOLVED = _("This newsletter asks for a puzzle. Send the solution of /challenge/, once.")
LARGEST_SIGN_UP = 16 * 1024


class SignUpTooLarge(APIException):
    status_code = status.HTTP_413_REQUEST_ENTITY_TOO_LARGE
    default_detail = _("A sign-up has an email and a name, nothing longer.")


class SignUpSerializer(serializers.Serializer[Any]):
    email = serializers.CharField(max_length=512)
    name = serializers.CharField(max_length=500, required=False, allow_blank=True, default="")
    words = serializers.CharField(
        max_length=2000,
        required=False,
        allow_blank=True,
        default="",
        help_text="Text of your form, stored as proof of consent.",
    )
    solution = serializers.CharField(
        max_length=2000,
        required=False,
        allow_blank=True,
        default="",
        help_text="If the newsletter asks for a puzzle, the solution of /challenge/.",
    )


class AnswerSerializer(serializers.Serializer[Any]):
    detail = serializers.CharField()


class SubscribeView(APIView):
    """Asks for a newsletter on behalf of a reader, who gets a mail to confirm."""

    authentication_classes = ()
    permission_classes = (AllowAny,)
    parser_classes = (JSONParser, FormParser, MultiPartParser)
    throttle_scope = "subscribe"

    @extend_schema(
        operation_id="subscribe",
        request=SignUpSerializer,
        responses={
            202: AnswerSerializer,
            400: OpenApiResponse(description="It has no address."),
            403: OpenApiResponse(description="The newsletter is closed to new subscribers."),
            404: OpenApiResponse(description="There is no such newsletter."),
            406: OpenApiResponse(description="Only JSON is given."),
            413: OpenApiResponse(description="The body has more than 16 KiB."),
            415: OpenApiResponse(description="Only JSON and forms are accepted."),
            429: OpenApiResponse(description="Too many sign-ups from one place."),
            503: OpenApiResponse(description="The server is busy; Retry-After says how long to wait."),
        },
    )
    def post(self, request: Request, name: str) -> Response:
        if self.subscribable is None:
            raise Http404
        if is_by_code(self.subscribable):
            raise PermissionDenied("People subscribe to it with a phone number, on its page.")
        asked = SignUpSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        given, now = asked.validated_data, utcnow()
        if self.subscribable.challenge and not is_solved(given["solution"], now=now):
            raise ValidationError({"solution": [UNSOLVED]})
        try:
            with same_time():
                sign_up(
                    subscribables=[self.subscribable],
                    email=given["email"],
                    name=given["name"],
                    origin=Origin.of(request.META, How.API, given["words"]),
                    now=now,
                    language=asked_for(request),
                )
        except InvalidDestination as error:
            raise ValidationError({"email": [str(error)]}) from error
        except SignUpClosed as error:
            raise PermissionDenied(str(error)) from error
        except OverLimit as over:
            raise Throttled(wait=over.seconds_left(now)) from over
        return Response({"detail": CHECK_YOUR_MAIL}, status=status.HTTP_202_ACCEPTED)

    @extend_schema(exclude=True)
    def options(self, request: Any, *args: Any, **kwargs: Any) -> Response:
        """The preflight of a browser."""
        return Response(status=status.HTTP_204_NO_CONTENT)

    def get_throttles(self) -> list[BaseThrottle]:
        return [] if self.request.method == "OPTIONS" else super().get_throttles()

    @cached_property
    def subscribable(self) -> Subscribable | None:
        return Subscribable.objects.with_pages().named(self.kwargs["name"]).first()

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        # Parsers read the whole body, ignoring Django's limit.
        if int(request.META.get("CONTENT_LENGTH") or 0) > LARGEST_SIGN_UP:
            raise SignUpTooLarge

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """Let the newsletter's sites read it, without credentials, as a sign-up needs no cookie."""
        answered = super().finalize_response(request, response, *args, **kwargs)
        patch_vary_headers(answered, ["Origin"])
        origin = request.headers.get("Origin", "")
        address = allowed(self.subscribable.embed_hosts, origin) if self.subscribable else None
        if address is not None and address.origin == origin:
            answered["Access-Control-Allow-Origin"] = origin
            answered["Access-Control-Allow-Methods"] = "POST, OPTIONS"
            answered["Access-Control-Allow-Headers"] = "Content-Type"
            answered["Access-Control-Max-Age"] = str(KEPT_SECONDS)
        return answered
