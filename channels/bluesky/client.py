"""One account's API: its tokens, renewed when they have run out, and what it writes on its server.

https://docs.bsky.app/docs/api/at-protocol-xrpc-api
"""

import base64
import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

from channels.base import NOTHING, Temporary
from channels.bluesky.message import COLLECTION, BlueskyAccount, Record
from channels.bluesky.spec import DID
from channels.http.client import ApiClient, Failed, UnreadableAnswer, an_id, host_of
from channels.http.outcomes import ApiService, Verdict
from channels.http.transport import TIMEOUT_SECONDS, ApiResponse, Transport, server_url

T = TypeVar("T")
LONGEST_TOKEN = 8_000
# That of app passwords is com.atproto.appPass or com.atproto.appPassPrivileged.
FULL_ACCESS = "com.atproto.access"
# Both come with 400. Whatever the token's kind, a new one may do.
STALE = frozenset({"ExpiredToken", "InvalidToken"})


def _words(answer: ApiResponse) -> str:
    words = ": ".join(text for text in (answer.text_at("error"), answer.text_at("message")) if text)
    return words and words.rstrip(".") + "."


BLUESKY = ApiService(
    name="a Bluesky server",
    words=_words,
    code=lambda answer: answer.text_at("error"),
    verdicts={
        **dict.fromkeys(STALE, Verdict.TRY_AGAIN),
        # The account's own password was given, and it wants a second factor.
        "AuthFactorTokenRequired": Verdict.DESTINATION,
        "AuthenticationRequired": Verdict.DESTINATION,
        "AccountTakedown": Verdict.DESTINATION,
        "AccountDeactivated": Verdict.DESTINATION,
    },
    advice="If the account is in order, save a new app password (Settings, Privacy and security).",
)


class SignedIn(NamedTuple):
    """What a service says of an account that has signed in. `pds` is "" where it does not say."""

    did: str
    handle: str
    pds: str
    is_active: bool
    tokens: Mapping[str, str]
    # Whether it was the account's own password, which may do everything.
    is_main_password: bool = False


class BlueskyClient:
    """Each method makes one request, and a few more where tokens have run out. Raises Failed.

    `tokens` are those of before, and after it those to keep.
    """

    def __init__(
        self,
        transport: Transport,
        account: BlueskyAccount,
        now: datetime,
        *,
        tokens: Mapping[str, str] = NOTHING,
        timeout: float = TIMEOUT_SECONDS,
    ) -> None:
        # Another account's are not sent anywhere.
        self.tokens = tokens if tokens.get("name") == account.name else NOTHING
        self._transport, self._account, self._now, self._timeout = transport, account, now, timeout

    @property
    def code(self) -> str:
        """The service's own, of the last answer."""
        answer = self._transport.answer
        return answer.text_at("error") if answer else ""

    def sign_in(self) -> SignedIn:
        """With the password. So may be done 30 times in five minutes, and 300 times a day."""
        given = {"identifier": self._account.name, "password": self._account.password}
        url = self._account.service
        made = self._post(url, "com.atproto.server.createSession", read=self._signed_in, json=given)
        self.tokens = made.tokens
        return made

    def upload(self, data: bytes, media_type: str) -> Record:
        """The blob, as a record refers to it; what no record refers to vanishes after a while."""

        def blob(answer: ApiResponse) -> Record:
            said = answer.at("blob")
            if not isinstance(said, dict):
                raise UnreadableAnswer("no blob")
            return said

        headers = {"Content-Type": media_type}
        return self._write("com.atproto.repo.uploadBlob", read=blob, data=data, headers=headers)

    def put(self, key: str, record: Record) -> Record:
        """Writes the post with that key; one that is there already is replaced. Its `uri`, and the `cid` of
        what it says: so answers refer to it."""

        def made(answer: ApiResponse) -> Record:
            return {name: an_id(answer.at(name)) for name in ("uri", "cid")}

        what = {**self._place(key), "record": record, "validate": True}
        return self._write("com.atproto.repo.putRecord", read=made, posting=True, json=what)

    def delete(self, key: str) -> None:
        """A second time changes nothing."""
        self._write("com.atproto.repo.deleteRecord", read=lambda _: None, json=self._place(key))

    def _place(self, key: str) -> Record:
        if not self.tokens:
            self.sign_in()
        return {"repo": self.tokens["did"], "collection": COLLECTION, "rkey": key}

    def _write(self, method: str, *, read: Callable[[ApiResponse], T], **options: Any) -> T:
        """A request to the account's own server, once more with new tokens."""

        def once() -> T:
            return self._post(self.tokens["pds"], method, read=read, token=self.tokens["access"], **options)

        if not self.tokens:
            self.sign_in()
        try:
            return once()
        except Failed:
            if self.code not in STALE:
                raise
        self._refresh()
        return once()

    def _refresh(self) -> None:
        method, token = "com.atproto.server.refreshSession", self.tokens["refresh"]
        try:
            made = self._post(self._account.service, method, read=self._signed_in, token=token)
        except Failed as failed:
            # A busy service says nothing of the token; signing in is dear.
            if isinstance(failed.outcome, Temporary) and self.code not in STALE:
                raise
            self.sign_in()
        else:
            self.tokens = made.tokens

    def _post(
        self, url: str, method: str, *, read: Callable[[ApiResponse], T], token: str = "", **options: Any
    ) -> T:
        host = host_of(url)
        secrets = (self._account.password, self.tokens.get("access", ""), self.tokens.get("refresh", ""))
        client = ApiClient(self._transport, host, BLUESKY, self._now, secrets=secrets, timeout=self._timeout)
        if token:
            options["headers"] = {**options.get("headers", {}), "Authorization": f"Bearer {token}"}
        found: T = client.call("POST", f"{url}/xrpc/{method}", read=read, **options)
        return found

    def _signed_in(self, answer: ApiResponse) -> SignedIn:
        did, access, refresh = (answer.at(name) for name in ("did", "accessJwt", "refreshJwt"))
        for said in (did, access, refresh):
            if not isinstance(said, str) or not 0 < len(said) <= LONGEST_TOKEN:
                raise UnreadableAnswer("no tokens")
        if not DID.fullmatch(did):
            raise UnreadableAnswer("no DID")
        # It may have moved since it was looked up. Where nobody says, the service passes requests on.
        pds = pds_of(answer.at("didDoc"))
        kept = pds or self._account.pds or self._account.service
        tokens = {"name": self._account.name, "did": did, "pds": kept, "access": access, "refresh": refresh}
        is_main = scope_of(access) == FULL_ACCESS
        return SignedIn(did, str(answer.at("handle")), pds, answer.at("active") is not False, tokens, is_main)


def scope_of(token: str) -> str:
    """The scope that an access token says it has; "" where it cannot be read (RFC 7519 §3)."""
    _, _, rest = token.partition(".")
    payload = rest.partition(".")[0]
    try:
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except (ValueError, RecursionError):
        return ""
    scope = claims.get("scope") if isinstance(claims, dict) else None
    return scope if isinstance(scope, str) else ""


def pds_of(document: Any) -> str:
    """The server that keeps the posts of whom a DID document describes; "" where it names none."""
    services = document.get("service") if isinstance(document, Mapping) else None
    for service in services if isinstance(services, list) else ():
        if isinstance(service, Mapping) and str(service.get("id", "")).endswith("#atproto_pds"):
            try:
                return server_url(str(service.get("serviceEndpoint", "")), example="bsky.social")
            except ValueError:
                return ""
    return ""
