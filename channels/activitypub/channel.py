"""ActivityPub: each issue to the inboxes of the servers where a newsletter has followers.

A destination is a server's shared inbox, so the cost grows with servers.
"""

import json
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from urllib.parse import urlsplit

from channels.activitypub.message import Actor, Document, IssueObject, deletion_of, issue_object
from channels.activitypub.signatures import SignedRequest, sign, sign_message
from channels.base import CrashPolicy, LaneDefaults, Looks, Message, Outcome, Sent, Temporary
from channels.bridge import Companion
from channels.http.client import ApiClient, Failed
from channels.http.outcomes import ApiService, Verdict
from channels.http.session import DeletingSession, EditingSession
from channels.http.transport import ApiResponse
from common.ports.channels import Field, ParsedDestination

# The only account, which has the key of this site. Admins cannot use capitals.
FEDIVERSE = "Fediverse"
LONGEST_INBOX = 500
UNAUTHORIZED = (400, 401)


def inbox_url(typed: str) -> str:
    """Raises ValueError."""
    parts = urlsplit(typed)
    if parts.scheme not in ("https", "http") or not parts.hostname or len(typed) > LONGEST_INBOX:
        raise ValueError("this isn’t the address of an inbox.")
    return typed


def _words(answer: ApiResponse) -> str:
    plain = answer.text_at("error") or answer.body[:300].decode("utf-8", "replace").strip()
    return "" if plain.startswith(("<", "{", "[")) else plain


FEDIVERSE_SERVER = ApiService(
    name="an ActivityPub server",
    words=_words,
    code=lambda answer: answer.status,
    # Never the lane: all servers share it. Other answers concern the message.
    verdicts={
        **dict.fromkeys((404, 410), Verdict.DESTINATION),
        **dict.fromkeys((401, 408, 425, 429, *range(500, 600)), Verdict.TRY_AGAIN),
        **dict.fromkeys((400, 403, 405, 413, 422), Verdict.MESSAGE),
    },
    unknown_refusal=Verdict.MESSAGE,
    advice="The server has no such inbox any more.",
)


class ActivityPubChannel(EditingSession, DeletingSession, Companion):
    """Followers are the fediverse app's rows. Servers are the domains of the only lane."""

    key = "activitypub"
    label = "The Fediverse"
    sentence = "Sends each issue to followers on Mastodon and other servers of the Fediverse."
    # Objects have stable ids, by which servers recognize a repetition.
    crash_policy = CrashPolicy.RESEND
    lane = LaneDefaults(serial=False, concurrency=40)
    address_field = "inbox"
    only_account = FEDIVERSE
    destination_fields: tuple[Field, ...] = (Field("inbox", "Inbox", required=True, clean=inbox_url),)
    service = FEDIVERSE_SERVER
    written = staticmethod(issue_object)

    def destination(self, given: Mapping[str, str]) -> ParsedDestination:
        """The `core` is hash@host."""
        inbox = given["inbox"]
        host = urlsplit(inbox).netloc.rpartition("@")[2].lower()
        digest = urlsafe_b64encode(sha256(inbox.encode()).digest()[:12]).decode()
        label = f"followers at {host}"
        return ParsedDestination(core=f"{digest}@{host}", label=label, config={"inbox": inbox})

    def domain(self, core: str) -> str:
        return core.rpartition("@")[2]

    def looks(self, message: Message[IssueObject]) -> Looks:
        fields = message.body.fields
        return Looks(str(fields.get("summary", "")), title=str(fields.get("name", "")))

    def post(self, api: ApiClient, body: IssueObject) -> Outcome:
        return self._deliver(api, body.activity("Create", "create"), body.id, url=str(body.fields["url"]))

    def change(self, api: ApiClient, body: IssueObject, remote_id: str, parts: Sequence[str]) -> Outcome:
        update = body.activity("Update", f"update-{api.key}", updated=api.now)
        return self._deliver(api, update, remote_id)

    def remove(self, api: ApiClient, remote_id: str, parts: Sequence[str]) -> Outcome:
        return self._deliver(api, deletion_of(remote_id), remote_id)

    def _deliver(self, api: ApiClient, activity: Document, remote_id: str, *, url: str = "") -> Outcome:
        private = self.credentials.get("private", "")
        if not private:
            return Temporary("Nothing was posted: this site’s Fediverse key is missing.", stops_lane=True)
        body = json.dumps(activity, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        key_id = Actor.of_object(remote_id).key_id

        def deliver(signed: Callable[..., dict[str, str]]) -> Sent:
            request = SignedRequest("POST", api.url, body=body)
            headers = signed(request, private=private, key_id=key_id, now=api.now)
            # Servers answer 200, 201, 202 or 204.
            api.call("POST", api.url, read=lambda _: None, posting=True, data=body, headers=headers)
            return Sent(remote_id, url=url)

        try:
            try:
                return deliver(sign)
            except Failed:
                if api.answer.status not in UNAUTHORIZED:
                    raise
                # As Mastodon does: servers of RFC 9421 need not know the draft.
                return deliver(sign_message)
        except Failed as failed:
            outcome = failed.outcome
            # One server must not stop the others.
            if isinstance(outcome, Temporary):
                outcome = Temporary(outcome.text, retry_at=outcome.retry_at)
            return outcome
