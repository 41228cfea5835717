"""Errors of RFC 6750 §3.1, and Microsub's own."""

from collections.abc import Mapping
from http import HTTPStatus


class ApiError(Exception):
    """`code` is for programs."""

    def __init__(
        self,
        status: HTTPStatus,
        code: str,
        message: str,
        *,
        more: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.code = status, code
        self.more, self.headers = dict(more or {}), dict(headers or {})


def invalid(message: str, code: str = "invalid_request") -> ApiError:
    return ApiError(HTTPStatus.BAD_REQUEST, code, message)


def not_found(message: str) -> ApiError:
    return ApiError(HTTPStatus.NOT_FOUND, "not_found", message)


def unauthorized(message: str, code: str = "unauthorized") -> ApiError:
    return ApiError(HTTPStatus.UNAUTHORIZED, code, message, headers={"WWW-Authenticate": "Bearer"})


def insufficient_scope(*scopes: str) -> ApiError:
    named = " or ".join(scopes)
    return ApiError(
        HTTPStatus.FORBIDDEN,
        "insufficient_scope",
        f"The token doesn’t have the scope {named}.",
        more={"scope": scopes[0]},
    )
