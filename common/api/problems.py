"""Every error of the API as application/problem+json (RFC 9457), with the field it is about."""

import logging
import math
from collections.abc import Iterator
from http import HTTPStatus
from itertools import chain
from typing import Any

from django.core.exceptions import NON_FIELD_ERRORS, PermissionDenied
from django.core.exceptions import ValidationError as DjangoValidationError
from django.core.signals import got_request_exception
from django.db import OperationalError
from django.http import Http404
from rest_framework import exceptions, serializers, status
from rest_framework.response import Response
from rest_framework.views import set_rollback

from common.net.web_slots import RETRY_AFTER_SECONDS, ServerBusy
from common.ports.channels import InvalidDestination
from common.refused import Refused

log = logging.getLogger("django.request")

MEDIA_TYPE = "application/problem+json"
# The names that Django and DRF give to errors about no field.
WHOLE = (NON_FIELD_ERRORS, "non_field_errors")
MOST_TOLD = 50
AWAY = "The database is busy or away. Try again in a moment."
UNEXPECTED = "Something went wrong on our side. It has been logged."


class Conflict(exceptions.APIException):
    """It cannot be done as things are. The message is a sentence that says why."""

    status_code = status.HTTP_409_CONFLICT
    default_code = "conflict"


class InvalidRequest(exceptions.ValidationError):
    """Well-formed, and yet not possible: a service said so, naming the field."""

    status_code = status.HTTP_422_UNPROCESSABLE_ENTITY


class WrongParameters(exceptions.ValidationError):
    """The parameters after the question mark are wrong."""


def handler(exc: Exception, context: dict[str, Any]) -> Response | None:
    """DRF's EXCEPTION_HANDLER. An exception that nobody expected is logged, and told without its trace."""
    if isinstance(exc, ServerBusy):
        return busy(exc)
    known = translated(exc)
    if not isinstance(known, exceptions.APIException):
        return unexpected(exc, context)
    set_rollback()
    answer = problem(known.status_code, problem_sentence(known), errors=errors(known))
    for name, value in headers(known).items():
        answer[name] = value
    return answer


def problem(code: int, detail: str, *, errors: list[dict[str, str]] | None = None) -> Response:
    body: dict[str, Any] = {
        "type": "about:blank",
        "title": HTTPStatus(code).phrase,
        "status": code,
        "detail": detail,
    }
    if errors:
        body["errors"] = errors
    return Response(body, status=code, content_type=MEDIA_TYPE)


def translated(exc: Exception) -> Exception:
    """Django's and our own exceptions as the API's. A refusal is about a field, or about how things are."""
    if isinstance(exc, Http404):
        return exceptions.NotFound("There is nothing under this address.")
    if isinstance(exc, PermissionDenied):
        return exceptions.PermissionDenied()
    if isinstance(exc, DjangoValidationError):
        parts = chain(*exc.error_dict.values()) if hasattr(exc, "error_dict") else exc.error_list
        detail = serializers.as_serializer_error(exc)
        if not any(part.code in ("unique", "unique_together") for part in parts):
            return InvalidRequest(detail)
        conflict = exceptions.ValidationError(detail)
        conflict.status_code = status.HTTP_409_CONFLICT
        return conflict
    if isinstance(exc, InvalidDestination):
        return InvalidRequest([str(exc)])
    if isinstance(exc, Refused):
        return InvalidRequest({exc.field: [exc.by_api]}) if exc.field else Conflict(exc.by_api)
    return exc


def unexpected(exc: Exception, context: dict[str, Any]) -> Response:
    request = context["request"]
    is_away = isinstance(exc, OperationalError)
    log.error("%s: %s", "Unavailable" if is_away else "Internal Server Error", request.path, exc_info=exc)
    # As Django does: tests and error trackers listen.
    got_request_exception.send(sender=type(context.get("view")), request=request._request)
    set_rollback()
    answer = problem(503, AWAY) if is_away else problem(500, UNEXPECTED)
    if is_away:
        answer["Retry-After"] = "5"
    answer._has_been_logged = True  # type: ignore[attr-defined] # Django would again, and know less
    return answer


def busy(exc: ServerBusy) -> Response:
    set_rollback()
    answer = problem(503, str(exc))
    answer["Retry-After"] = str(RETRY_AFTER_SECONDS)
    answer._has_been_logged = True  # type: ignore[attr-defined] # an answer by design, not an error
    return answer


def headers(exc: exceptions.APIException) -> dict[str, str]:
    found = {}
    if (challenge := getattr(exc, "auth_header", None)) is not None:
        found["WWW-Authenticate"] = challenge
    if isinstance(exc, exceptions.Throttled):
        found["Retry-After"] = str(_seconds(exc))
    return found


def problem_sentence(exc: exceptions.APIException) -> str:
    """What is wrong as one text: the errors, each with its field."""
    if isinstance(exc, exceptions.Throttled):
        return f"Too many requests. Try again in {_seconds(exc)} seconds."
    if not isinstance(exc, exceptions.ValidationError):
        return str(exc.detail)
    said = [f"{'.'.join(path)}: {text}" if path else text for path, text in _flat(exc.detail)]
    return " ".join(said[:MOST_TOLD])


def _seconds(exc: Any) -> int:
    wait: float = exc.wait or 0
    return max(1, math.ceil(wait))


def errors(exc: exceptions.APIException) -> list[dict[str, str]]:
    """One for each thing that is wrong, with its place in the body or its parameter."""
    if not isinstance(exc, exceptions.ValidationError):
        return []
    told = []
    for path, text in list(_flat(exc.detail))[:MOST_TOLD]:
        place = {"field": ".".join(path)} if path else {}
        if path and isinstance(exc, WrongParameters):
            place["parameter"] = place["field"]
        elif path:
            # RFC 6901, 3.
            escaped = (part.replace("~", "~0").replace("/", "~1") for part in path)
            place["pointer"] = "#/" + "/".join(escaped)
        told.append({**place, "detail": text})
    return told


def _flat(detail: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """(where, text) for each of DRF's nested errors."""
    if isinstance(detail, dict):
        for name, inner in detail.items():
            yield from _flat(inner, path if name in WHOLE else (*path, str(name)))
    elif isinstance(detail, (list, tuple)):
        for index, inner in enumerate(detail):
            yield from _flat(inner, (*path, str(index)) if isinstance(inner, dict) else path)
    else:
        yield path, str(detail)
