"""Fake mail service (ESP) on loopback that records requests and fails on demand."""

import base64
import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs

KEY = "k3y-of-the-account"


@dataclass(frozen=True, slots=True)
class Request:
    """Request from a client, with lower-case header names."""

    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def form(self) -> dict[str, str]:
        return {name: values[0] for name, values in parse_qs(self.body.decode()).items()}


@dataclass(frozen=True, slots=True)
class Reply:
    """Response. `silent` holds the connection without one; `hangs_up` closes it at once."""

    status: int = 200
    body: Any = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    silent: bool = False
    hangs_up: bool = False


Usual = Callable[[Request, int], Reply]


def mailgun(request: Request, number: int) -> Reply:
    """Return one id for the whole request. One invalid address fails all of it; a wrong key gets 401."""
    if "api:" not in _basic(request) or KEY not in _basic(request):
        return Reply(401, "Forbidden", {"Content-Type": "text/plain"})
    if "@refused.test" in request.body.decode().replace("%40", "@"):
        return Reply(400, {"message": "to parameter is not a valid address. please check documentation"})
    return Reply(body={"id": f"<{number}@mg.example.org>", "message": "Queued. Thank you."})


def postmark(request: Request, number: int) -> Reply:
    """Return a list of results for a list of messages."""
    if request.headers.get("x-postmark-server-token") != KEY:
        return Reply(401, {"ErrorCode": 10, "Message": f"No Account or Server API token {KEY}."})
    if isinstance(request.json, dict):
        answer = _postmark(request.json, f"{number}-0")
        return Reply(422 if answer["ErrorCode"] else 200, answer)
    return Reply(body=[_postmark(one, f"{number}-{at}") for at, one in enumerate(request.json)])


def _postmark(message: dict[str, Any], identity: str) -> dict[str, Any]:
    to = message["To"].rpartition("<")[2].strip(">")
    if to.endswith("@inactive.test"):
        said = f"You tried to send to an inactive recipient.\nFound inactive addresses: {to}."
        return {
            "ErrorCode": 406,
            "Message": f"{said}\nInactive recipients are ones that have generated a hard bounce.",
        }
    if to.endswith("@refused.test"):
        return {"ErrorCode": 300, "Message": f"Invalid 'To' address: '{to}'."}
    if to.endswith("@strange.test"):
        return {"ErrorCode": 300, "Message": "Invalid metadata content."}
    return {"ErrorCode": 0, "Message": "OK", "To": to, "MessageID": identity}


def resend(request: Request, number: int) -> Reply:
    """Return ids in the order of the messages."""
    if isinstance(request.json, dict):
        return Reply(body={"id": f"{number}-0"})
    return Reply(body={"data": [{"id": f"{number}-{at}"} for at, _ in enumerate(request.json)]})


def sparkpost(request: Request, number: int) -> Reply:
    count = len(request.json["recipients"])
    counts = {"total_accepted_recipients": count, "total_rejected_recipients": 0}
    return Reply(body={"results": {**counts, "id": str(number)}})


def sendgrid(request: Request, number: int) -> Reply:
    return Reply(202)


def mailjet(request: Request, number: int) -> Reply:
    """Return 400 if any message was wrong, although the others were sent; else 200."""
    results = [_mailjet(one, at) for at, one in enumerate(request.json["Messages"])]
    return Reply(400 if any(one["Status"] == "error" for one in results) else 200, {"Messages": results})


def _mailjet(message: dict[str, Any], at: int) -> dict[str, Any]:
    to = message["To"][0]["Email"]
    if to.endswith("@refused.test"):
        said = {"ErrorMessage": f'"{to}" is an invalid email address.', "StatusCode": 400}
        return {"Status": "error", "Errors": [said]}
    return {"Status": "success", "To": [{"Email": to, "MessageID": 1000 + at}]}


def brevo(request: Request, number: int) -> Reply:
    versions = request.json.get("messageVersions")
    if versions is None:
        return Reply(201, {"messageId": f"<{number}>"})
    return Reply(201, {"messageIds": [f"<{number}.{at}>" for at, _ in enumerate(versions)]})


def mailtrap(request: Request, number: int) -> Reply:
    if "requests" not in request.json:
        return Reply(body={"success": True, "message_ids": [f"{number}"]})
    each = [
        {"success": True, "message_ids": [f"{number}-{at}"]} for at, _ in enumerate(request.json["requests"])
    ]
    return Reply(body={"success": True, "responses": each})


class EspServer:
    """Fake ESP, used as a context manager. `says` replaces the usual response."""

    def __init__(self, usual: Usual) -> None:
        self.usual = usual
        self.requests: list[Request] = []
        self.taken: list[Request] = []
        self.stopping = threading.Event()
        self._told: list[Reply] = []
        self._always: Reply | None = None
        self._http = _Http(self)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02})

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v3/"

    def says(self, reply: Reply | None, *, times: int = 0) -> None:
        """Script the response, for `times` requests if given. None restores the usual one."""
        self._always, self._told = (None, [reply] * times) if reply and times else (reply, [])

    def answer(self, request: Request) -> Reply:
        """Return the scripted reply, or else the usual one."""
        self.requests.append(request)
        reply = self._told.pop(0) if self._told else self._always
        if reply is None:
            reply = self.usual(request, len(self.requests))
        if reply.silent or reply.status < 300:
            self.taken.append(request)
        return reply

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(5)


def _basic(request: Request) -> str:
    return base64.b64decode(request.headers.get("authorization", "Basic ").split()[-1]).decode()


class _Http(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, service: EspServer) -> None:
        self.service = service
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 5

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        assert isinstance(self.server, _Http)
        service = self.server.service
        reply = service.answer(Request(self.path, headers, body))
        if reply.silent:
            service.stopping.wait(5)
        if reply.silent or reply.hangs_up:
            self.close_connection = True
            return
        self._send(reply)

    def log_message(self, *_: object) -> None:
        pass

    def _send(self, reply: Reply) -> None:
        body = (reply.body if isinstance(reply.body, str) else json.dumps(reply.body)).encode()
        self.send_response(reply.status)
        for name, value in {"Content-Type": "application/json", **reply.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
