"""Errors of the API as application/problem+json (RFC 9457)."""

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
# Names of Django and DRF for errors without a field.
WHOLE = (NON_FIELD_ERRORS, "non_field_errors")
MOST_TOLD = 50
AWAY = "The database is busy or away. Try again in a moment."
UNEXPECTED = "Something went wrong on our side. It has been logged."


class Conflict(exceptions.APIException):
    """Not possible in the current state. The message says why."""

    status_code = status.HTTP_409_CONFLICT
    default_code = "conflict"


class InvalidRequest(exceptions.ValidationError):
    """Well-formed, but refused by a service."""

    status_code = status.HTTP_422_UNPROCESSABLE_ENTITY


class WrongParameters(exceptions.ValidationError):
    pass


def handler(exc: Exception, context: dict[str, Any]) -> Response | None:
    """DRF's EXCEPTION_HANDLER; unexpected exceptions are logged."""
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
    # As Django does, for tests and error trackers.
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
    values = {}
    if (challenge := getattr(exc, "auth_header", None)) is not None:
        values["WWW-Authenticate"] = challenge
    if isinstance(exc, exceptions.Throttled):
        values["Retry-After"] = str(_seconds(exc))
    return values


def problem_sentence(exc: exceptions.APIException) -> str:
    if isinstance(exc, exceptions.Throttled):
        return f"Too many requests. Try again in {_seconds(exc)} seconds."
    if not isinstance(exc, exceptions.ValidationError):
        return str(exc.detail)
    sentences = [f"{'.'.join(path)}: {text}" if path else text for path, text in _flat(exc.detail)]
    return " ".join(sentences[:MOST_TOLD])


def _seconds(exc: Any) -> int:
    wait: float = exc.wait or 0
    return max(1, math.ceil(wait))


def errors(exc: exceptions.APIException) -> list[dict[str, str]]:
    if not isinstance(exc, exceptions.ValidationError):
        return []
    rows = []
    for path, text in list(_flat(exc.detail))[:MOST_TOLD]:
        place = {"field": ".".join(path)} if path else {}
        if path and isinstance(exc, WrongParameters):
            place["parameter"] = place["field"]
        elif path:
            # RFC 6901 §3.
            escaped = (part.replace("~", "~0").replace("/", "~1") for part in path)
            place["pointer"] = "#/" + "/".join(escaped)
        rows.append({**place, "detail": text})
    return rows


def _flat(detail: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    if isinstance(detail, dict):
        for name, inner in detail.items():
            yield from _flat(inner, path if name in WHOLE else (*path, str(name)))
    elif isinstance(detail, (list, tuple)):
        for index, inner in enumerate(detail):
            yield from _flat(inner, (*path, str(index)) if isinstance(inner, dict) else path)
    else:
        yield path, str(detail)
