"""The purpose of an activity from another server, and the account that sent it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any
from urllib.parse import urlsplit

LARGEST = 256 * 1024
LONGEST_ID = 500
NOTES = ("Note", "Article", "Page", "Question")


class Malformed(ValueError):
    """The message says what is wrong."""


class Purpose(Enum):
    FOLLOW = "follow"
    # Also a block of the newsletter.
    UNFOLLOW = "unfollow"
    # The follow has the object's id.
    UNDO = "undo"
    LIKE = "like"
    BOOST = "boost"
    REPLY = "reply"
    RETRACT = "retract"
    # The account was deleted.
    LEAVE = "leave"
    MOVE = "move"
    REFRESH = "refresh"


@dataclass(frozen=True, slots=True)
class Asked:
    """`target` is our newsletter's name, an issue's key, an id, or the new account."""

    purpose: Purpose
    uri: str
    actor: str
    target: str
    document: Mapping[str, Any]


def read(body: bytes, *, site: str) -> Asked | None:
    """Return None for an activity that doesn't concern us. Raises Malformed.

    `site` is our URL, without a slash.
    """
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        raise Malformed("The body is no JSON.") from None
    if not isinstance(document, dict):
        raise Malformed("The body is no activity.")
    uri, actor, kind = an_id(document.get("id")), an_id(document.get("actor")), document.get("type")
    if not actor or not isinstance(kind, str):
        raise Malformed("The activity has no actor or no type.")
    if not uri or host_of(uri) != host_of(actor):
        raise Malformed("The activity’s id isn’t on its actor’s server.")
    found = _purpose(document, actor, site)
    return Asked(found[0], uri, actor, found[1], document) if found else None


def _purpose(document: Mapping[str, Any], actor: str, site: str) -> tuple[Purpose, str] | None:
    kind, inner, thing = document["type"], document.get("object"), an_id(document.get("object"))
    inner = inner if isinstance(inner, dict) else {}
    name, issue = newsletter_of(thing, site), issue_of(thing, site)
    is_on_its_server = host_of(thing) == host_of(actor)
    match kind:
        case "Follow" if name:
            return Purpose.FOLLOW, name
        case "Block" if name:
            return Purpose.UNFOLLOW, name
        case "Undo" if inner.get("type") == "Follow":
            target = newsletter_of(an_id(inner.get("object")), site)
            return (Purpose.UNFOLLOW, target) if target else None
        case "Undo" if inner.get("type") in ("Like", "Announce"):
            return (Purpose.RETRACT, thing) if issue_of(an_id(inner.get("object")), site) else None
        case "Undo" if not inner and is_on_its_server:
            return Purpose.UNDO, thing
        case "Like" if issue:
            return Purpose.LIKE, issue
        case "Announce" if issue:
            return Purpose.BOOST, issue
        case "Create" if inner.get("type") in NOTES and is_on_its_server:
            answered = issue_of(an_id(inner.get("inReplyTo")), site)
            return (Purpose.REPLY, answered) if answered else None
        case "Delete" if thing == actor:
            return Purpose.LEAVE, thing
        case "Delete" if is_on_its_server:
            return Purpose.RETRACT, thing
        case "Move" if thing == actor and (target := an_id(document.get("target"))):
            return Purpose.MOVE, target
        case "Update" if thing == actor:
            return Purpose.REFRESH, thing
    return None


def an_id(value: Any) -> str:
    """Return the id of an object or link, or ""."""
    if isinstance(value, dict):
        value = value.get("id")
    if not isinstance(value, str) or len(value) > LONGEST_ID or not value.isprintable():
        return ""
    return value if value.startswith(("https://", "http://")) and host_of(value) else ""


def host_of(url: str) -> str:
    try:
        return urlsplit(url).netloc.rpartition("@")[2].lower()
    except ValueError:
        return ""


def newsletter_of(address: str, site: str) -> str:
    """Return the name of our newsletter with this actor, or ""."""
    name = address.removeprefix(f"{site}/s/").removesuffix("/actor")
    return name if "/" not in name and address == f"{site}/s/{name}/actor" else ""


def issue_of(address: str, site: str) -> str:
    """Return the key of our issue with this object or page, or ""."""
    if not address.startswith(f"{site}/s/"):
        return ""
    parts = address.removeprefix(f"{site}/s/").removesuffix("/object").strip("/").split("/")
    is_issue = len(parts) == 3 and parts[1] == "archive" and parts[2].isdecimal() and len(parts[2]) < 19
    return parts[2] if is_issue else ""


@dataclass(frozen=True, slots=True)
class Account:
    """Account on another server."""

    uri: str
    handle: str
    inbox: str
    shared_inbox: str
    key_id: str
    public_key: str
    also_known_as: frozenset[str] = frozenset()


def read_account(body: bytes, *, url: str) -> Account:
    """Read the document at a URL, which must be its id. Raises Malformed."""
    try:
        document = json.loads(body)
        key = document["publicKey"]
        key = key[0] if isinstance(key, list) else key
        endpoints = document.get("endpoints")
        account = Account(
            uri=an_id(document),
            handle=f"{str(document['preferredUsername'])[:64]}@{host_of(url)}"[:320],
            inbox=an_id(document["inbox"]),
            shared_inbox=an_id(endpoints.get("sharedInbox")) if isinstance(endpoints, dict) else "",
            key_id=an_id(key),
            public_key=str(key["publicKeyPem"])[:8_000],
            also_known_as=_ids(document.get("alsoKnownAs")),
        )
    except (ValueError, RecursionError, KeyError, IndexError, TypeError, AttributeError):
        raise Malformed("That is no account with an inbox and a key.") from None
    if account.uri != url:
        raise Malformed("The account’s id is another address.")
    if not account.handle.isprintable() or key.get("owner", account.uri) != account.uri:
        raise Malformed("The key belongs to another account.")
    places = {account.inbox, account.shared_inbox or account.inbox, account.key_id}
    if {host_of(place) for place in places} != {host_of(url)}:
        raise Malformed("The account’s inbox or key is on another server.")
    return account


def _ids(value: Any) -> frozenset[str]:
    values = value if isinstance(value, list) else [value]
    return frozenset(filter(None, map(an_id, values[:50])))
