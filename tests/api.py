"""API client that has a token."""

from typing import Any

from django.test import Client

from common.api.permissions import SCOPES
from common.clock import utcnow
from feedletter_site.models import ApiToken
from feedletter_site.services.tokens import make_token

PROBLEM = "application/problem+json"


class Api:
    """`Api()` may do everything, `Api("feeds:read")` that. Paths are relative to /api/v1/."""

    def __init__(self, *scopes: str) -> None:
        made: tuple[ApiToken, str] = make_token(name="test", scopes=scopes or SCOPES, now=utcnow())
        self.token, self.key = made
        self.client = Client(headers={"Authorization": f"Bearer {self.key}"})

    def get(self, path: str, **parameters: Any) -> Any:
        return self.client.get(f"/api/v1/{path}", parameters)

    def post(self, path: str, **body: Any) -> Any:
        return self.client.post(f"/api/v1/{path}", body, content_type="application/json")

    def patch(self, path: str, **body: Any) -> Any:
        return self.client.patch(f"/api/v1/{path}", body, content_type="application/json")

    def delete(self, path: str) -> Any:
        return self.client.delete(f"/api/v1/{path}")

    def ids(self, path: str, **parameters: Any) -> list[int]:
        """Return the keys on the first page."""
        return [row["id"] for row in self.get(path, **parameters).json()["results"]]


def problem(answer: Any, status: int) -> dict[str, Any]:
    """Return the problem of a response; assert its status."""
    assert answer.status_code == status, answer.content
    assert answer.headers["Content-Type"] == PROBLEM
    body: dict[str, Any] = answer.json()
    assert (
        {"type", "title", "status", "detail"} <= set(body) <= {"type", "title", "status", "detail", "errors"}
    )
    assert body["status"] == status
    return body


def fields(answer: Any, status: int = 400) -> list[str]:
    """Return the fields that a problem names."""
    return [error.get("field", "") for error in problem(answer, status)["errors"]]
