"""Newsletters as actors: switched on and off, their documents, this site's key."""

import json
from collections.abc import Mapping
from datetime import datetime
from html import escape
from typing import Any
from urllib.parse import quote, urlsplit

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction

from channels.activitypub.channel import FEDIVERSE, ActivityPubChannel
from channels.activitypub.message import CONTEXT, PUBLIC, Actor, Document, activity_of, timestamp
from channels.activitypub.signatures import SignedRequest, new_key, public_pem, sign
from channels.http.links import postable
from common.net.client import FetchError, client
from common.secrets import opened
from delivery.models import Account
from fediverse.models import Actor as ActorRow
from fediverse.models import Outgoing
from fediverse.rules.activities import Account as RemoteAccount
from fediverse.rules.activities import Malformed, an_id, read_account
from subscriptions.branding.brands import brand_of
from subscriptions.links import page_url
from subscriptions.models import Subscribable
from subscriptions.newsletters.define import set_companion

KEY = ActivityPubChannel.key
LARGEST_DOCUMENT = 256 * 1024
FETCH_SECONDS = 10.0
MOST_ALIASES = 10
# Of which Mastodon shows four.
MOST_SITES = 4
ACCEPT = 'application/activity+json, application/ld+json; profile="https://www.w3.org/ns/activitystreams"'
NO_PAGES = "Only a public newsletter can be followed from the Fediverse. Change its visibility first."


class Unfetched(ValueError):
    """The message says why. `is_gone`: the server says that it no longer exists."""

    def __init__(self, text: str, *, is_gone: bool = False) -> None:
        super().__init__(text)
        self.is_gone = is_gone


def private_key() -> str:
    """Return this site's key, created at first use. Raises ValueError if it can't be read."""
    row = Account.objects.filter(kind=KEY, name=FEDIVERSE).first()
    if row is None:
        made = {"secrets": {"private": new_key()}}
        row, _ = Account.objects.get_or_create(kind=KEY, name=FEDIVERSE, defaults=made)
    return opened(row.secrets)["private"]


def host() -> str:
    return urlsplit(settings.SITE_URL).netloc


def handle_of(newsletter: Subscribable) -> str:
    return f"@{newsletter.name}@{host()}"


def site_actor() -> Actor:
    """Return the actor that signs our requests for documents."""
    return Actor(f"{settings.SITE_URL}/fediverse/")


@transaction.atomic
def switch_on(newsletter: Subscribable, *, now: datetime) -> ActorRow:
    """Let it be followed. Idempotent. Raises ValidationError."""
    if newsletter.visibility != Subscribable.Visibility.PUBLIC:
        raise ValidationError(NO_PAGES)
    private_key()
    row, is_new = ActorRow.objects.update_or_create(newsletter=newsletter, defaults={"is_on": True})
    set_companion(newsletter, KEY, is_on=True)
    if not is_new:
        announce_change(row, now=now)
    return row


@transaction.atomic
def switch_off(newsletter: Subscribable) -> None:
    """Keep its followers, who get nothing until it is on again. Idempotent."""
    ActorRow.objects.filter(newsletter=newsletter).update(is_on=False)
    set_companion(newsletter, KEY, is_on=False)


def announce_change(row: ActorRow, *, now: datetime) -> None:
    """Queue an Update of the actor for each server with followers."""
    ours = Actor(page_url(row.newsletter))
    address = f"{ours.id}#update-{int(now.timestamp())}"
    update = activity_of("Update", address, ours, actor_document(row), to=[PUBLIC])
    inboxes = row.followers.order_by().values_list("server__config__inbox", flat=True).distinct()
    rows = [Outgoing(actor=row, inbox=inbox, document=update, due_at=now) for inbox in inboxes]
    Outgoing.objects.bulk_create(rows, batch_size=500)


def actor_document(row: ActorRow) -> dict[str, Any]:
    newsletter = row.newsletter
    ours = Actor(page_url(newsletter))
    brand = brand_of(newsletter)
    sites = newsletter.feeds.order_by("pk").values_list("site_url", flat=True)[:MOST_SITES]
    document = _document(ours, newsletter.name, "Service") | {
        "name": str(newsletter),
        "summary": f"<p>{escape(newsletter.description)}</p>" if newsletter.description else "",
        "url": ours.page,
        "published": timestamp(newsletter.created_at),
        "discoverable": True,
        "indexable": True,
        "followers": ours.followers,
        "outbox": f"{ours.page}outbox",
        "to": [PUBLIC],
        "attachment": [_link("Website", url) for url in dict.fromkeys(filter(None, map(postable, sites)))],
    }
    if row.also_known_as:
        document["alsoKnownAs"] = row.also_known_as
    for name, url in (("icon", brand.logo_url), ("image", brand.header_picture_url)):
        if url:
            document[name] = {"type": "Image", "url": url}
    return document


def site_document() -> dict[str, Any]:
    """Return the document of the actor that signs requests, which Mastodon's authorized fetch asks for."""
    ours = site_actor()
    facts = {"manuallyApprovesFollowers": True, "url": settings.SITE_URL}
    return _document(ours, host(), "Application") | facts


def _document(actor: Actor, name: str, kind: str) -> dict[str, Any]:
    key = {"id": actor.key_id, "owner": actor.id, "publicKeyPem": public_pem(private_key())}
    return {
        "@context": CONTEXT,
        "id": actor.id,
        "type": kind,
        "preferredUsername": name,
        "inbox": f"{actor.page}inbox",
        "endpoints": {"sharedInbox": f"{settings.SITE_URL}/fediverse/inbox"},
        "publicKey": key,
    }


def _link(name: str, url: str) -> Document:
    # Mastodon verifies a value that is only this.
    value = f'<a href="{escape(url)}" rel="me">{escape(url)}</a>'
    return {"type": "PropertyValue", "name": name, "value": value}


def fetch_account(url: str, *, now: datetime) -> RemoteAccount:
    """Fetch an account by a signed request. Raises Unfetched."""
    address = url.partition("#")[0]
    headers = sign(SignedRequest("GET", address), private=private_key(), key_id=site_actor().key_id, now=now)
    answer = _get(address, {**headers, "Accept": ACCEPT})
    if answer.status != 200:
        raise Unfetched(f"{address} answered {answer.status}.", is_gone=answer.status in (404, 410))
    if answer.url != address or "json" not in answer.headers.get("content-type", ""):
        raise Unfetched(f"{address} is no ActivityPub document.")
    try:
        return read_account(answer.body, url=address)
    except Malformed as error:
        raise Unfetched(str(error)) from error


def find_account(typed: str, *, now: datetime) -> RemoteAccount:
    """Find `@name@server` by WebFinger, or an account's address. Raises Unfetched."""
    name, _, server = typed.strip().removeprefix("@").partition("@")
    if typed.strip().startswith(("https://", "http://")):
        return fetch_account(typed.strip(), now=now)
    scheme = urlsplit(settings.SITE_URL).scheme
    resource = quote(f"acct:{name}@{server}", safe=":@")
    address = f"{scheme}://{server}/.well-known/webfinger?resource={resource}"
    answer = _get(address, {"Accept": "application/jrd+json"})
    url = self_link(answer.body)
    if answer.status != 200 or not url:
        raise Unfetched(f"There is no account {typed.strip()[:100]}. Write it like @name@mastodon.example.")
    return fetch_account(url, now=now)


def _get(url: str, headers: Mapping[str, str]) -> Any:
    try:
        return client().get(url, headers=headers, timeout=FETCH_SECONDS, max_bytes=LARGEST_DOCUMENT)
    except FetchError as error:
        raise Unfetched(str(error)) from error


def self_link(body: bytes) -> str:
    """Return the actor's address in a WebFinger document, or ""."""
    try:
        links = [link for link in json.loads(body)["links"] if link.get("rel") == "self"]
        return next((an_id(link["href"]) for link in links if "json" in link["type"]), "")
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return ""


def add_alias(row: ActorRow, typed: str, *, now: datetime) -> str:
    """Add an old account whose followers may move here. Return its id. Raises ValidationError."""
    try:
        uri = find_account(typed, now=now).uri
    except Unfetched as error:
        raise ValidationError({"alias": str(error)}) from error
    with transaction.atomic():
        row = ActorRow.objects.select_for_update(no_key=True).get(pk=row.pk)
        if uri not in row.also_known_as:
            row.also_known_as = [*row.also_known_as, uri][-MOST_ALIASES:]
            row.save(update_fields=["also_known_as"])
            announce_change(row, now=now)
    return uri
