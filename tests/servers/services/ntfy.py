"""Fake ntfy server on loopback: keeps messages by sequence id, as strict as ntfy."""

import re
from base64 import b64encode
from typing import Any

from tests.servers.api_server import ApiServer, Reply, Request

TOKEN = "tk_AgQdq7mVBoFD37zQVN29RhuMzNIz2"
USER, PASSWORD = "phil", "mypass-secret"
LONGEST = 4_096
SEQUENCE = re.compile(r"[-_A-Za-z0-9]{1,64}")


def error(status: int, code: int, words: str) -> Reply:
    return Reply(status, {"code": code, "http": status, "error": words, "link": "https://ntfy.sh/docs"})


UNAUTHORISED = error(401, 40101, "unauthorized")
FORBIDDEN = error(403, 40301, "forbidden")


class NtfyServer(ApiServer):
    """ntfy server. `topic` belongs to the user; `reads`: whether the token may read it."""

    def __init__(self, topic: str = "news") -> None:
        super().__init__()
        self.topic, self.reads, self.longest = topic, True, LONGEST
        # By sequence id, as phones show them; `published` has them in order.
        self.shown: dict[str, dict[str, Any]] = {}
        self.published: list[dict[str, Any]] = []

    def usual(self, request: Request) -> Reply:
        login = b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        said = request.headers.get("authorization")
        if said is not None and said not in (f"Bearer {TOKEN}", f"Basic {login}"):
            return UNAUTHORISED
        if (request.method, request.place) == ("GET", f"/{self.topic}/auth"):
            return Reply(body={"success": True}) if said and self.reads else FORBIDDEN
        if (request.method, request.place) == ("GET", "/v1/account"):
            return Reply(body={"username": USER if said else "*", "role": "user" if said else "anonymous"})
        if said is None:
            return FORBIDDEN
        if request.method == "DELETE" and (match := re.fullmatch(r"/news/([-\w]{1,64})", request.place)):
            self.shown.pop(match[1], None)
            return Reply(body={"id": "d1", "event": "message_delete"})
        if (request.method, request.place) == ("POST", "/"):
            return self._publish(request)
        return error(404, 40401, "page not found")

    def _publish(self, request: Request) -> Reply:
        said = request.json
        if len(request.body) > 2 * self.longest:
            return error(413, 41303, "JSON body too large")
        if said.get("topic") != self.topic:
            return FORBIDDEN
        if not isinstance(said.get("priority", 3), int) or not 0 <= said.get("priority", 3) <= 5:
            return error(400, 40007, "invalid priority parameter")
        if not SEQUENCE.fullmatch(said.get("sequence_id", "x")):
            return error(400, 40049, "invalid request: sequence ID invalid")
        if not re.match(r"https?://", said.get("attach", "https://")):
            return error(400, 40013, "invalid request: attachment URL is invalid")
        if len(said.get("message", "").encode()) > self.longest:
            return error(400, 40014, "invalid request: attachments not allowed")
        message = {"id": f"m{len(self.published)}", **said}
        self.published.append(message)
        self.shown[said["sequence_id"]] = message
        return Reply(body={"id": message["id"], "event": "message", "topic": self.topic})
