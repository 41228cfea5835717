"""Fake server of the Fediverse on loopback: accounts that sign, and an inbox as strict as Mastodon's."""

import json
from datetime import datetime
from email.utils import parsedate_to_datetime
from functools import cache
from typing import Any

from channels.activitypub.signatures import BadSignature, SignedRequest, new_key, public_pem, sign, verify
from common.clock import utcnow
from tests.servers.api_server import ApiServer, Reply, Request

TYPE = {"Content-Type": "application/activity+json"}


@cache
def a_key(name: str) -> str:
    return new_key()


class FediverseServer(ApiServer):
    """`objects` are the posts that its people see; `repeated` the ids that came again.

    `ours` is the public key of the site that posts.
    """

    def __init__(self, ours: str = "") -> None:
        super().__init__()
        self.ours = ours
        self.objects: dict[str, dict[str, Any]] = {}
        self.deleted: list[str] = []
        self.repeated: list[str] = []
        self.received: list[dict[str, Any]] = []
        self.gone: set[str] = set()
        self.changes: dict[str, dict[str, Any]] = {}

    def account(self, name: str) -> str:
        return f"{self.url}/users/{name}"

    def document(self, name: str) -> dict[str, Any]:
        uri = self.account(name)
        key = {"id": f"{uri}#main-key", "owner": uri, "publicKeyPem": public_pem(a_key(name))}
        usual = {
            "@context": "https://www.w3.org/ns/activitystreams",
            "id": uri,
            "type": "Person",
            "preferredUsername": name,
            "inbox": f"{uri}/inbox",
            "endpoints": {"sharedInbox": f"{self.url}/inbox"},
            "publicKey": key,
        }
        return usual | self.changes.get(name, {})

    def usual(self, request: Request) -> Reply:
        name = request.place.removeprefix("/users/").removesuffix("/inbox")
        if request.method == "POST":
            return self._take(request)
        if request.place == "/.well-known/webfinger":
            account = request.query["resource"].removeprefix("acct:").partition("@")[0]
            link = {"rel": "self", "type": "application/activity+json", "href": self.account(account)}
            return Reply(body={"subject": request.query["resource"], "links": [link]})
        if name in self.gone:
            return Reply(410)
        return Reply(body=self.document(name), headers=TYPE)

    def _take(self, request: Request) -> Reply:
        signed = SignedRequest("POST", f"{self.url}{request.path}", dict(request.headers), request.body)
        # Stories have a clock of minutes.
        now = parsedate_to_datetime(request.headers["date"]) if "date" in request.headers else utcnow()
        try:
            verify(signed, key=self.ours, now=now)
        except BadSignature as error:
            return Reply(401, {"error": str(error)})
        activity = request.json
        self.received.append(activity)
        thing = activity["object"]
        match activity["type"]:
            case "Create" if thing["id"] in self.objects or thing["id"] in self.deleted:
                self.repeated.append(thing["id"])
            case "Create":
                self.objects[thing["id"]] = thing
            case "Update" if thing["id"] in self.objects:
                assert thing["updated"] >= thing["published"]
                self.objects[thing["id"]] = thing
            case "Delete":
                assert thing["type"] == "Tombstone"
                self.objects.pop(thing["id"], None)
                self.deleted.append(thing["id"])
        return Reply(202)

    def activity(self, kind: str, name: str, about: Any, **more: Any) -> dict[str, Any]:
        number = len(self.received) + len(self.requests)
        actor = self.account(name)
        made = {"id": f"{actor}#{kind}-{number}", "type": kind, "actor": actor, "object": about}
        return {"@context": "https://www.w3.org/ns/activitystreams", **made, **more}

    def signed(
        self,
        activity: dict[str, Any],
        url: str,
        *,
        name: str = "",
        now: datetime | None = None,
        method: Any = sign,
    ) -> tuple[bytes, dict[str, str]]:
        """Return the body and the headers of a request with an activity."""
        body = json.dumps(activity).encode()
        name = name or activity["actor"].rpartition("/")[2]
        key_id = f"{self.account(name)}#main-key"
        request = SignedRequest("POST", url, body=body)
        return body, method(request, private=a_key(name), key_id=key_id, now=now or utcnow())
