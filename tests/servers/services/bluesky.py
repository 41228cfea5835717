"""Fake Bluesky server on loopback, stricter than the real one.

The real server does not check facets; a wrong one would mark the wrong characters, so this one refuses it.
"""

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import grapheme

from tests.servers.api_server import ApiServer, Reply, Request

DID = "did:plc:ewvi7nxzyoun6zhxrhs64oiz"
HANDLE = "bees.fake.example"
PASSWORD = "abcd-efgh-ijkl-mnop"
PUT = "/xrpc/com.atproto.repo.putRecord"
DELETE = "/xrpc/com.atproto.repo.deleteRecord"
GET = "/xrpc/com.atproto.repo.getRecord"
UPLOAD = "/xrpc/com.atproto.repo.uploadBlob"
SIGN_IN = "/xrpc/com.atproto.server.createSession"
REFRESH = "/xrpc/com.atproto.server.refreshSession"
POST = "app.bsky.feed.post"
PUBLICATION, DOCUMENT = "site.standard.publication", "site.standard.document"
LARGEST_REQUEST = 150 * 1024
TID = re.compile(r"[2-7a-j][2-7a-z]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
# JavaScript's white space includes the byte order mark.
URI = re.compile(r"\w+:(?://)?[^\s/\ufeff][^\s\ufeff]*", re.ASCII)
LABELS = ("sexual", "nudity", "porn", "graphic-media")


class Refused(Exception):
    """Invalid request."""


def need(is_right: Any, what: str) -> None:
    if not is_right:
        raise Refused(what)


class BlueskyServer(ApiServer):
    """Bluesky server. `says` is the reply to new posts and documents. `uses`: how often a token is valid."""

    def __init__(self) -> None:
        super().__init__()
        self.records: dict[str, dict[str, Any]] = {}
        self.publications: dict[str, dict[str, Any]] = {}
        self.documents: dict[str, dict[str, Any]] = {}
        self.blobs: dict[str, dict[str, Any]] = {}
        self.password, self.uses, self.names_pds = PASSWORD, 10**6, True
        # Scope of the issued tokens; "" for opaque ones.
        self.scope = ""
        # URL of the PDS; None: this server.
        self.pds_url: str | None = None
        self.writes: list[dict[str, Any]] = []
        # Remaining uses of each access token, and the refresh tokens.
        self.left: dict[str, int] = {}
        self.refreshable: set[str] = set()

    def posts(self, request: Request) -> bool:
        return request.place == PUT and request.json["collection"] != PUBLICATION

    def revoke(self) -> None:
        """Revoke the app password and all sessions made with it."""
        self.password = "another"
        self.left.clear()
        self.refreshable.clear()

    def use_up(self) -> None:
        """Expire the access tokens, as after two hours."""
        self.left = dict.fromkeys(self.left, 0)

    def forget_blobs(self) -> None:
        self.blobs.clear()

    def usual(self, request: Request) -> Reply:
        if request.place == SIGN_IN:
            return self._sign_in(request)
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        if not token:
            return Reply(401, {"error": "AuthMissing", "message": "Authentication Required"})
        if request.place == REFRESH:
            if token not in self.refreshable:
                return Reply(400, {"error": "ExpiredToken", "message": "Token has been revoked"})
            self.refreshable.remove(token)
            return self._new_tokens()
        if token not in self.left:
            return Reply(400, {"error": "InvalidToken", "message": "Token could not be verified"})
        if not self.left[token]:
            return Reply(400, {"error": "ExpiredToken", "message": "Token has expired"})
        self.left[token] -= 1
        if request.place != UPLOAD and len(request.body) > LARGEST_REQUEST:
            return Reply(413, {"error": "PayloadTooLargeError", "message": "request entity too large"})
        acts = {PUT: self._put, GET: self._get, DELETE: self._delete, UPLOAD: self._upload}
        if request.place not in acts:
            return Reply(404, {"error": "MethodNotImplemented", "message": "Method Not Implemented"})
        try:
            return acts[request.place](request)
        except Refused as refused:
            codes = ("BlobNotFound", "RecordNotFound", "InvalidSwap")
            code = next((code for code in codes if str(refused).startswith(code)), "InvalidRequest")
            return Reply(400, {"error": code, "message": str(refused)})

    def _sign_in(self, request: Request) -> Reply:
        if request.json["identifier"] not in (DID, HANDLE) or request.json["password"] != self.password:
            words = "Invalid identifier or password"
            return Reply(401, {"error": "AuthenticationRequired", "message": words})
        return self._new_tokens()

    def document(self) -> dict[str, Any]:
        """Return the account's DID document."""
        pds = {
            "id": "#atproto_pds",
            "type": "AtprotoPersonalDataServer",
            "serviceEndpoint": self.pds_url or self.url,
        }
        return {"id": DID, "alsoKnownAs": [f"at://{HANDLE}"], "service": [pds]}

    def _new_tokens(self) -> Reply:
        number = len(self.left) + 1
        access, refresh = f"access-jwt-{number}", f"refresh-jwt-{number}"
        if self.scope:
            claims = base64.urlsafe_b64encode(json.dumps({"scope": self.scope}).encode()).rstrip(b"=")
            access = f"{access}.{claims.decode()}.signature"
        self.left[access] = self.uses
        self.refreshable.add(refresh)
        said = {"did": DID, "handle": HANDLE, "accessJwt": access, "refreshJwt": refresh, "active": True}
        return Reply(body={**said, "didDoc": self.document()} if self.names_pds else said)

    def _upload(self, request: Request) -> Reply:
        kind = request.headers.get("content-type", "")
        need(kind.startswith("image/"), "wrong media type")
        need(0 < len(request.body) <= 2_000_000, "wrong size")
        link = "bafkrei" + hashlib.sha256(request.body).hexdigest()
        blob = {"$type": "blob", "ref": {"$link": link}, "mimeType": kind, "size": len(request.body)}
        self.blobs[link] = blob
        return Reply(body={"blob": blob})

    def _delete(self, request: Request) -> Reply:
        need(request.json["repo"] == DID, "not there")
        self.stored(request.json["collection"]).pop(request.json["rkey"], None)
        return Reply(body={})

    def stored(self, collection: str) -> dict[str, dict[str, Any]]:
        kept = {POST: self.records, PUBLICATION: self.publications, DOCUMENT: self.documents}
        need(collection in kept, "unknown collection")
        return kept[collection]

    def _get(self, request: Request) -> Reply:
        place = request.query
        need(place["repo"] == DID, "not there")
        record = self.stored(place["collection"]).get(place["rkey"])
        need(record is not None, "RecordNotFound: Could not locate record")
        assert record is not None
        uri = f"at://{DID}/{place['collection']}/{place['rkey']}"
        return Reply(body={"uri": uri, "cid": cid_of(record), "value": record})

    def _put(self, request: Request) -> Reply:
        said = request.json
        kept, record = self.stored(said["collection"]), said["record"]
        need(said["repo"] == DID and record["$type"] == said["collection"], "not there")
        need(TID.fullmatch(said["rkey"]), "rkey is no TID")
        if "swapRecord" in said:
            present = kept.get(said["rkey"])
            need(present and cid_of(present) == said["swapRecord"], "InvalidSwap: Record was at another CID")
        if said["collection"] == POST:
            need(said["validate"], "not validated")
            check_record(record, self.blobs)
        else:
            # As the real server, which doesn't know them.
            need("validate" not in said, f"Unknown lexicon type: {said['collection']}")
            check_standard_site(record, self.blobs)
        for end in said["record"].get("reply", {}).values():
            there = self.records.get(end["uri"].rpartition("/")[2])
            need(there is not None and cid_of(there) == end["cid"], "reply to nothing")
        # An equal record is no change.
        if kept.get(said["rkey"]) != record or said["collection"] == POST:
            self.writes.append(record)
        kept[said["rkey"]] = record
        return Reply(body={"uri": f"at://{DID}/{said['collection']}/{said['rkey']}", "cid": cid_of(record)})


def check_record(record: dict[str, Any], blobs: Mapping[str, dict[str, Any]]) -> None:
    """Check a post record. Raises Refused."""
    known = {"$type", "text", "createdAt", "langs", "tags", "facets", "labels", "embed", "reply"}
    need(record.keys() <= known and record["$type"] == POST, "unknown fields")
    text = record["text"].encode()
    need(grapheme.length(record["text"]) <= 300 and len(text) <= 3_000, "text is too long")
    need(not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", record["text"]), "control characters")
    need(TIME.fullmatch(record["createdAt"]), "createdAt")
    langs, tags = record.get("langs", []), record.get("tags", [])
    need(len(langs) <= 3 and all(re.fullmatch("[a-z]{2,3}", lang) for lang in langs), "langs")
    need(len(tags) <= 8 and all(0 < grapheme.length(tag) <= 64 for tag in tags), "tags")
    need("labels" not in record or record["labels"]["values"][0]["val"] in LABELS, "labels")
    check_facets(text, record.get("facets", []))
    if "embed" in record:
        check_card(record["embed"], blobs)


def check_standard_site(record: dict[str, Any], blobs: Mapping[str, dict[str, Any]]) -> None:
    """Check a publication or document by the strictest of the lexicons. Raises Refused."""

    def check_text(name: str, text: str, graphemes: int, octets: int) -> None:
        need(grapheme.length(text) <= graphemes and len(text.encode()) <= octets, f"{name} is too long")
        need(not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", text), f"{name} has control characters")

    if record["$type"] == PUBLICATION:
        need(record.keys() <= {"$type", "url", "name", "description"} and record["name"], "fields")
        check_uri(record["url"])
        need(not record["url"].endswith("/"), "url ends with a slash")
        check_text("name", record["name"], 128, 1_280)
        check_text("description", record.get("description", ""), 300, 3_000)
        return
    optional = {"description", "textContent", "tags", "coverImage", "updatedAt"}
    required = {"$type", "site", "path", "title", "publishedAt"}
    need(required <= record.keys() <= required | optional, "fields")
    need(re.fullmatch(rf"at://{DID}/{PUBLICATION}/{TID.pattern}", record["site"]), "site")
    need(record["path"].startswith("/") and record["title"], "path or title")
    times = (record["publishedAt"], record.get("updatedAt", record["publishedAt"]))
    need(all(map(TIME.fullmatch, times)), "time")
    check_text("title", record["title"], 500, 5_000)
    check_text("description", record.get("description", ""), 3_000, 30_000)
    check_text("textContent", record.get("textContent", ""), 10**6, 10**6)
    for tag in record.get("tags", ()):
        check_text("tags", tag, 50, 100)
    if cover := record.get("coverImage"):
        need(blobs.get(cover["ref"]["$link"]) == cover, "BlobNotFound: Could not find blob")
        need(cover["size"] < 1_000_000, "coverImage is too large")


def check_facets(text: bytes, facets: list[dict[str, Any]]) -> None:
    """Check the facets of a text. Raises Refused."""
    reached = 0
    for facet in facets:
        start, end = facet["index"]["byteStart"], facet["index"]["byteEnd"]
        need(reached <= start < end <= len(text), "facets overlap or lie outside")
        reached = end
        try:
            shown = (text[:start].decode(), text[start:end].decode())[1]
        except UnicodeDecodeError:
            raise Refused("a facet cuts a letter") from None
        [feature] = facet["features"]
        if feature["$type"] == "app.bsky.richtext.facet#link":
            check_uri(feature["uri"])
        else:
            need(feature["$type"] == "app.bsky.richtext.facet#tag", "no mentions here")
            need(shown == f"#{feature['tag']}" and 1 < grapheme.length(shown) <= 65, "tag")


def check_card(embed: dict[str, Any], blobs: Mapping[str, dict[str, Any]]) -> None:
    """Check an external embed. Raises Refused."""
    need(embed["$type"] == "app.bsky.embed.external", "embed")
    card = embed["external"]
    check_uri(card["uri"])
    need(isinstance(card["title"], str) and isinstance(card["description"], str), "card")
    if "thumb" in card:
        need(blobs.get(card["thumb"]["ref"]["$link"]) == card["thumb"], "BlobNotFound: Could not find blob")
        need(card["thumb"]["size"] <= 1_000_000, "thumb is too large")


def check_uri(uri: str) -> None:
    need(URI.fullmatch(uri) and len(uri.encode()) <= 8 * 1024, "no uri")
    need(urlsplit(uri).scheme in ("http", "https"), "no web address")


def cid_of(record: dict[str, Any]) -> str:
    """Return a CID that is the same for equal records."""
    return "bafyrei" + hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()
