"""MCP for assistants over HTTP: the Streamable HTTP transport without sessions and streams."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from rest_framework import status
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response

from common.api.permissions import ASSISTANT, InsufficientScope
from common.api.views import ApiView
from feedletter_site.api.authentication import TokenAuthentication
from feedletter_site.assistants import INSTRUCTIONS, call, tools_for
from feedletter_site.models import ApiToken

# The newest first. Tools are the same in all of them.
VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26")
WANTED = f"Send one JSON-RPC 2.0 message. Versions of MCP: {', '.join(VERSIONS)}."
INVALID_REQUEST, NO_METHOD, INVALID_PARAMS = -32600, -32601, -32602


class ForAssistants(BasePermission):
    def has_permission(self, request: Request, view: Any) -> bool:
        token: Any = request.auth
        if token is not None and ASSISTANT not in token.scopes:
            raise InsufficientScope(ASSISTANT)
        return token is not None


class AssistantView(ApiView):
    schema = None
    authentication_classes = (TokenAuthentication,)
    permission_classes = (ForAssistants,)

    def post(self, request: Request) -> Response:
        """Answer one JSON-RPC message; to notifications with 202 and nothing."""
        message, version = request.data, request.headers.get("MCP-Protocol-Version", VERSIONS[0])
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0" or version not in VERSIONS:
            return failed(None, INVALID_REQUEST, WANTED, http=400)
        if "id" not in message or "method" not in message:
            return Response(status=status.HTTP_202_ACCEPTED)
        key, params = message["id"], message.get("params") or {}
        if isinstance(key, bool) or not isinstance(key, str | int):
            return failed(None, INVALID_REQUEST, WANTED, http=400)
        if not isinstance(params, dict):
            return failed(key, INVALID_PARAMS, "Parameters are an object.")
        token: Any = request.auth
        if (result := answer(token, message["method"], params)) is None:
            return failed(key, NO_METHOD, "There is no such method.")
        return Response({"jsonrpc": "2.0", "id": key, "result": result})


def answer(token: ApiToken, method: Any, params: Mapping[str, Any]) -> dict[str, Any] | None:
    match method:
        case "initialize":
            asked = params.get("protocolVersion")
            return {
                "protocolVersion": asked if asked in VERSIONS else VERSIONS[0],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "feedletter", "version": settings.VERSION},
                "instructions": INSTRUCTIONS,
            }
        case "ping":
            return {}
        case "tools/list":
            return {"tools": [tool.described() for tool in tools_for(token).values()]}
        case "tools/call":
            text, is_error = call(token, str(params.get("name")), params.get("arguments") or {})
            return {"content": [{"type": "text", "text": text}], "isError": is_error}
    return None


def failed(key: Any, code: int, said: str, *, http: int = 200) -> Response:
    body = {"jsonrpc": "2.0", "id": key, "error": {"code": code, "message": said}}
    return Response(body, status=http)
