"""https://docs.bsky.app/docs/api/at-protocol-xrpc-api"""

import base64
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar
from urllib.parse import unquote

from channels.base import NO_POST, Temporary
from channels.bluesky.message import COLLECTION, Record
from channels.http.client import ApiClient, Failed, UnreadableAnswer, an_id
from channels.http.outcomes import ApiService, Verdict
from channels.http.transport import ApiResponse, server_url

T = TypeVar("T")
LONGEST_TOKEN = 8_000
# App passwords have com.atproto.appPass or com.atproto.appPassPrivileged.
FULL_ACCESS = "com.atproto.access"
# Both have status 400. Whatever the token's kind, a new one may work.
STALE = frozenset({"ExpiredToken", "InvalidToken"})
# https://atproto.com/specs/did: the two methods in use, within our maximum length.
DID = re.compile(r"did:plc:[a-z2-7]{24}|did:web:(?=.{1,150}\Z)[a-z0-9.-]+(?:%3A\d{1,5})?")


def _words(answer: ApiResponse) -> str:
    words = ": ".join(text for text in (answer.text_at("error"), answer.text_at("message")) if text)
    return words and words.rstrip(".") + "."


BLUESKY = ApiService(
    name="a Bluesky server",
    words=_words,
    code=lambda answer: answer.text_at("error"),
    verdicts={
        # The last: somebody changed the record meanwhile.
        **dict.fromkeys((*STALE, "InvalidSwap"), Verdict.TRY_AGAIN),
        # This was the main password, and a second factor is needed.
        "AuthFactorTokenRequired": Verdict.CREDENTIALS,
        "AuthenticationRequired": Verdict.CREDENTIALS,
        "AccountTakedown": Verdict.DESTINATION,
        "AccountDeactivated": Verdict.DESTINATION,
    },
    advice="If the account is active, save a new app password (Settings, Privacy and security).",
)


class SignedIn(NamedTuple):
    """`pds` may be unknown ("")."""

    did: str
    handle: str
    pds: str
    is_active: bool
    tokens: Mapping[str, str]
    # Gives full access.
    is_main_password: bool = False


class BlueskyClient:
    """Client of one account, which renews its tokens. Raises Failed.

    `tokens` are the previous ones, and later those to keep.
    """

    def __init__(self, api: ApiClient, tokens: dict[str, str]) -> None:
        self._api, self.tokens = api, tokens
        # The DID is permanent, handles aren't.
        self._name = api.config.get("did") or api.config["handle"]
        # Another account's tokens must not be sent.
        if tokens.get("name") != self._name:
            tokens.clear()

    @property
    def code(self) -> str:
        return self._api.answer.text_at("error")

    def sign_in(self) -> SignedIn:
        """Limits: 30 times in five minutes, and 300 times a day."""
        given = {"identifier": self._name, "password": self._api.to.secrets["app_password"]}
        made = self._post(self._api.url, "com.atproto.server.createSession", read=self._signed_in, json=given)
        self.tokens.update(made.tokens)
        return made

    def pds_in(self, directory: str, did: str) -> str:
        """Return the PDS from the DID's document, or "": then the service forwards posts."""
        _, method, name = did.split(":", 2)
        url = f"{directory}/{did}" if method == "plc" else f"https://{unquote(name)}/.well-known/did.json"
        try:
            return self._api.call("GET", url, read=lambda answer: pds_of(answer.json))
        except Failed:
            return ""

    def upload(self, data: bytes, media_type: str) -> Record:
        """Return the blob; without a record it is deleted after a while."""
        headers, method = {"Content-Type": media_type}, "com.atproto.repo.uploadBlob"
        return self._write(method, read=lambda it: it.needed(dict, "blob"), data=data, headers=headers)

    def put(self, key: str, record: Record, *, swap: str = "") -> Record:
        """Return `uri` and `cid`, for replies. `swap`: CID of the record to replace."""

        def made(answer: ApiResponse) -> Record:
            return {name: an_id(answer.at(name)) for name in ("uri", "cid")}

        collection = record["$type"]
        what = {**self._place(key, collection), "record": record}
        if collection == COLLECTION:
            # Servers refuse to validate lexicons that they don't know.
            what["validate"] = True
        if swap:
            what["swapRecord"] = swap
        return self._write("com.atproto.repo.putRecord", read=made, posting=True, json=what)

    def get(self, key: str, collection: str) -> tuple[Record, str]:
        """Return the record and its CID. Raises Failed, with NO_POST if there is none."""

        def read(answer: ApiResponse) -> tuple[Record, str]:
            return answer.needed(dict, "value"), an_id(answer.at("cid"))

        try:
            place = self._place(key, collection)
            return self._write("com.atproto.repo.getRecord", read=read, verb="GET", params=place)
        except Failed:
            if self.code == "RecordNotFound":
                raise Failed(NO_POST) from None
            raise

    def delete(self, key: str, collection: str = COLLECTION) -> None:
        """Repeatable."""
        self._write("com.atproto.repo.deleteRecord", read=lambda _: None, json=self._place(key, collection))

    def _place(self, key: str, collection: str) -> Record:
        return {"repo": self.did, "collection": collection, "rkey": key}

    @property
    def did(self) -> str:
        if not self.tokens:
            self.sign_in()
        return self.tokens["did"]

    def _write(self, method: str, *, read: Callable[[ApiResponse], T], **options: Any) -> T:
        """Repeat a request once with new tokens."""

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
            made = self._post(self._api.url, method, read=self._signed_in, token=token)
        except Failed as failed:
            # A temporary failure says nothing about the token, and signing in is rate-limited.
            if isinstance(failed.outcome, Temporary) and self.code not in STALE:
                raise
            self.sign_in()
        else:
            self.tokens.update(made.tokens)

    def _post(
        self,
        url: str,
        method: str,
        *,
        read: Callable[[ApiResponse], T],
        verb: str = "POST",
        token: str = "",
        **options: Any,
    ) -> T:
        tokens = (self.tokens.get("access", ""), self.tokens.get("refresh", ""))
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        api = replace(self._api, url=url, headers=headers, secrets=(*self._api.secrets, *tokens))
        found: T = api.call(verb, f"/xrpc/{method}", read=read, **options)
        return found

    def _signed_in(self, answer: ApiResponse) -> SignedIn:
        did, access, refresh = (answer.at(name) for name in ("did", "accessJwt", "refreshJwt"))
        for text in (did, access, refresh):
            if not isinstance(text, str) or not 0 < len(text) <= LONGEST_TOKEN:
                raise UnreadableAnswer("no tokens")
        if not DID.fullmatch(did):
            raise UnreadableAnswer("no DID")
        # It may have moved. Without an address the service forwards requests.
        pds = pds_of(answer.at("didDoc"))
        kept = pds or self._api.config.get("pds") or self._api.url
        tokens = {"name": self._name, "did": did, "pds": kept, "access": access, "refresh": refresh}
        is_main = scope_of(access) == FULL_ACCESS
        return SignedIn(did, str(answer.at("handle")), pds, answer.at("active") is not False, tokens, is_main)


def scope_of(token: str) -> str:
    """Return the scope (RFC 7519 §3), or ""."""
    _, _, rest = token.partition(".")
    payload = rest.partition(".")[0]
    try:
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except (ValueError, RecursionError):
        return ""
    scope = claims.get("scope") if isinstance(claims, dict) else None
    return scope if isinstance(scope, str) else ""


def pds_of(document: Any) -> str:
    services = document.get("service") if isinstance(document, Mapping) else None
    for service in services if isinstance(services, list) else ():
        if isinstance(service, Mapping) and str(service.get("id", "")).endswith("#atproto_pds"):
            try:
                return server_url(str(service.get("serviceEndpoint", "")), example="bsky.social")
            except ValueError:
                return ""
    return ""
