"""Fake Gotify server on loopback."""

from typing import Any

from tests.servers.api_server import ApiServer, Reply, Request

TOKEN = "Averysecrettoken"


def error(status: int, words: str) -> Reply:
    return Reply(status, {"error": words, "errorCode": status, "errorDescription": words})


class GotifyServer(ApiServer):
    """Gotify server. `messages` are the accepted ones."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[dict[str, Any]] = []

    def usual(self, request: Request) -> Reply:
        if (request.method, request.place) == ("GET", "/version"):
            return Reply(body={"version": "2.6.3", "commit": "9f3d1b7", "buildDate": "2025-04-27"})
        if request.headers.get("x-gotify-key") != TOKEN:
            return error(401, "Unauthorized")
        if (request.method, request.place) != ("POST", "/message"):
            return error(404, "Not Found")
        if not request.json.get("message"):
            return error(400, "Field 'message' is required")
        if not isinstance(request.json.get("priority", 0), int):
            return error(400, "json: cannot unmarshal string into Go struct field MessageExternal.priority")
        self.messages.append(request.json)
        return Reply(body={"id": len(self.messages), **request.json})
