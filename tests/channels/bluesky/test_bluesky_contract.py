"""The Bluesky channel fulfils the contract of all bridges."""

from tests.channels.bluesky.bluesky_letters import Skeeting
from tests.contracts.bridge import LINK, BridgeContract
from tests.contracts.channel import Arrival
from tests.servers.api_server import Reply
from tests.servers.services.bluesky import PASSWORD, check_record


class TestBlueskyContract(Skeeting, BridgeContract):
    refused = Reply(400, {"error": "InvalidRequest", "message": "Invalid app.bsky.feed.post record"})
    unauthorised = Reply(401, {"error": "AuthenticationRequired", "message": "Invalid password"})
    gone = Reply(400, {"error": "AccountTakedown", "message": "Account has been taken down"})
    secrets = (PASSWORD,)

    def arrived(self) -> list[Arrival]:
        return [Arrival(rkey, record["text"]) for rkey, record in self.service.records.items()]

    def acceptable(self, arrival: Arrival) -> bool:
        record = self.service.records[arrival.identity]
        check_record(record, self.service.blobs)
        return bool(record["embed"]["external"]["uri"] == LINK)

    def is_harmless(self, text: str) -> bool:
        """The fake refuses mentions; nothing in a title is a link."""
        return not any(record.get("facets") for record in self.service.records.values())
