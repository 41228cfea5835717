"""Micropub requests, without database."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode, urlsplit

from django.core.cache import cache
from django.db import transaction
from django.utils.translation import gettext
from urllib3.filepost import encode_multipart_formdata

from common.net.client import Fetched, FetchError, client
from common.net.errors import AGAIN, host_of, never_left
from common.refused import TranslatedRefusal
from common.secrets import opened
from common.text import one_line, shortened
from feeds.parsing.media import absolute
from reader.indieauth.client import Begun, Granted, begin, finish, renew
from reader.indieauth.discovery import NotConfirmed, discover, endpoints_of, json_object, sentence
from reader.models import Photo, Reader
from reader.people.tokens import connect_site
from reader.rules.micropub import (
    LONGEST_PROBLEM,
    Config,
    Said,
    Target,
    as_form,
    as_json,
    config_of,
    targets_of,
)

POST_SECONDS = 20.0
CONFIG_SECONDS = 5.0
MAX_ANSWER = 1_000_000
LOOKED_AT = 20
FORM = "application/x-www-form-urlencoded"
JSON = "application/json"
TAKEN = (HTTPStatus.OK, HTTPStatus.CREATED, HTTPStatus.ACCEPTED, HTTPStatus.NO_CONTENT)
MOVED = (HTTPStatus.TEMPORARY_REDIRECT, HTTPStatus.PERMANENT_REDIRECT)
UNAUTHORISED = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
CONNECT_AGAIN = "Reconnect your site."
AN_HOUR, A_MINUTE = 3600, 60
ASKED_SCOPES = ("create", "media")
# Older servers call it "post".
POSTING_SCOPES = frozenset({"create", "post"})
# Renew tokens that end sooner.
LEAST_LEFT = timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class Site:
    """No other server may get the token."""

    endpoint: str
    token: str = field(repr=False)

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}", "Accept": JSON}


@dataclass(frozen=True, slots=True)
class SiteAnswer:
    """Result of a post: posted, refused, later (nothing arrived) or unsure.

    `location` may be ""; `wait` is Retry-After.
    """

    verdict: str
    location: str = ""
    problem: str = ""
    wait: timedelta | None = None


def newest_posts(site: Site) -> list[Any] | None:
    """Return the answer to `q=source`, if any."""
    items = _asked(site, {"q": "source", "limit": str(LOOKED_AT)}).get("items")
    return items[: 10 * LOOKED_AT] if isinstance(items, list) else None


def upload(site: Site, media: str, picture: Photo) -> SiteAnswer:
    """Upload a picture (§3.6.1). Harmless if repeated."""
    body, kind = encode_multipart_formdata({"file": _file(picture)})
    answer = _post(site, media, body, kind)
    if answer.verdict == "posted" and not answer.location:
        return SiteAnswer("refused", problem=f"{host_of(media)} didn’t return the picture’s address.")
    return answer


def create(site: Site, said: Said, pictures: Sequence[Photo]) -> SiteAnswer:
    """Create a post, with pictures that have no address (§3.3)."""
    fields = as_form(said, [picture.url for picture in pictures if picture.url])
    if files := [_file(picture) for picture in pictures if not picture.url]:
        name = "photo[]" if len(pictures) > 1 else "photo"
        body, kind = encode_multipart_formdata([*fields, *((name, file) for file in files)])
    elif any(picture.alt for picture in pictures):
        document = as_json(said, [(picture.url, picture.alt) for picture in pictures])
        body, kind = json.dumps(document).encode(), JSON
    else:
        body, kind = urlencode(fields).encode(), FORM
    return _post(site, site.endpoint, body, kind)


def _file(picture: Photo) -> tuple[str, bytes, str]:
    return picture.name, bytes(picture.data), picture.media_type


def _post(site: Site, url: str, body: bytes, kind: str) -> SiteAnswer:
    try:
        answer = client().push(
            url, body=body, headers={**site.headers, "Content-Type": kind}, timeout=POST_SECONDS
        )
    except FetchError as error:
        # Its instruction is shown elsewhere.
        words = sentence(error, url).removesuffix(AGAIN).strip()
        return SiteAnswer("later" if never_left(error) else "unsure", problem=words)
    return _read(answer, site)


def _read(answer: Fetched, site: Site) -> SiteAnswer:
    host, status = host_of(answer.url), answer.status
    location = absolute(answer.headers.get("location"), answer.url)
    # With 200 or 204 older servers created something only if they give a location.
    if status in TAKEN and (location or status in (HTTPStatus.CREATED, HTTPStatus.ACCEPTED)):
        return SiteAnswer("posted", location)
    fields = json_object(answer.body)
    code, words = (_words(fields.get(name), site) for name in ("error", "error_description"))
    problem = f"{host}: {words or code}" if words or code else f"{host} returned an error (HTTP {status})."
    if status in UNAUTHORISED:
        return SiteAnswer("refused", problem=f"{problem} {CONNECT_AGAIN}")
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        wait = answer.headers.get("retry-after", "")
        is_number = wait.isascii() and wait.isdigit() and len(wait) <= 6
        return SiteAnswer("later", problem=problem, wait=timedelta(seconds=int(wait)) if is_number else None)
    if status in MOVED:
        return SiteAnswer("refused", problem=f"{host} redirected the request. {CONNECT_AGAIN}")
    if 400 <= status < 500:
        return SiteAnswer("refused", problem=problem)
    if status < 400:
        problem = f"{host} didn’t confirm that it accepted the post (HTTP {status})."
    return SiteAnswer("unsure", problem=problem)


def _asked(site: Site, query: Mapping[str, str]) -> dict[str, Any]:
    parts = urlsplit(site.endpoint)
    url = parts._replace(query="&".join(filter(None, (parts.query, urlencode(query))))).geturl()
    try:
        answer = client().get(url, headers=site.headers, timeout=CONFIG_SECONDS, max_bytes=MAX_ANSWER)
    except FetchError:
        return {}
    return json_object(answer.body) if answer.status == HTTPStatus.OK else {}


def _words(text: object, site: Site) -> str:
    """Mask the token, which the server may repeat."""
    words = one_line(text) if isinstance(text, str) else ""
    return shortened(words.replace(site.token, "…"), LONGEST_PROBLEM)


def config_at(site: Site) -> Config:
    """Cached for an hour, or a minute if empty or invalid (network)."""
    key = f"micropub-{hashlib.sha256(f'{site.endpoint} {site.token}'.encode()).hexdigest()}"
    # No classes of ours: another release may read them.
    if known := cache.get(key):
        return Config(known[0], tuple(Target(*one) for one in known[1]))
    answer = _asked(site, {"q": "config"})
    config = config_of(answer, site.endpoint)
    if not config.targets and "syndicate-to" not in answer:
        config = Config(config.media, targets_of(_asked(site, {"q": "syndicate-to"})))
    targets = [(one.uid, one.name) for one in config.targets]
    cache.set(key, (config.media, targets), AN_HOUR if config != Config() else A_MINUTE)
    return config


def ask_site(*, me: str, redirect_uri: str, now: datetime) -> Begun:
    """Begin consent (network). Raises Refused."""
    endpoints = discover(me)
    if not endpoints.micropub:
        words = gettext("%(host)s doesn’t say where to post. Its page needs a link with rel=micropub.")
        raise TranslatedRefusal(words % {"host": host_of(endpoints.me)}, "me")
    return begin(endpoints, redirect_uri=redirect_uri, scopes=ASKED_SCOPES, now=now)


def connect(*, reader: Reader, kept: Mapping[str, Any], answer: Mapping[str, str], now: datetime) -> None:
    """Store the token that a site issues (network). Raises Refused."""
    granted = finish(kept, answer, now=now)
    if not POSTING_SCOPES & set(granted.scopes):
        words = gettext("%(host)s didn’t grant permission to post. Allow it there.")
        raise TranslatedRefusal(words % {"host": host_of(granted.me)})
    if not granted.endpoints.micropub:
        raise NotConfirmed(f"{host_of(granted.me)} doesn’t say where to post.")
    with transaction.atomic():
        connect_site(reader=reader, me=granted.me, endpoints=asdict(granted.endpoints), now=now)
        Reader.objects.filter(pk=reader.pk).update(micropub=_kept(granted))


def disconnect(*, reader: Reader) -> None:
    """Sending then refuses posts, but keeps them."""
    Reader.objects.filter(pk=reader.pk).update(micropub={})


def site_of(reader: Reader) -> Site | None:
    token, endpoint = opened(reader.micropub).get("token", ""), reader.endpoints.get("micropub", "")
    return Site(endpoint, token) if token and endpoint else None


def renewed(reader: Reader, *, now: datetime) -> Granted | None:
    """Renew a token that ends soon, if possible (network). Raises NotConfirmed."""
    secrets = opened(reader.micropub)
    ends_at, refresh_token = secrets.get("ends_at", ""), secrets.get("refresh_token", "")
    if not ends_at or not refresh_token or datetime.fromisoformat(ends_at) > now + LEAST_LEFT:
        return None
    scopes = tuple(secrets.get("scope", "").split())
    granted = Granted(reader.me, endpoints_of(reader.endpoints), "", refresh_token, scopes)
    return renew(granted, now=now)


def keep_token(*, reader: Reader, granted: Granted) -> None:
    """Store a renewed token, unless it changed meanwhile."""
    token = opened(reader.micropub).get("refresh_token")
    with transaction.atomic():
        row = Reader.objects.select_for_update(no_key=True).get(pk=reader.pk)
        if opened(row.micropub).get("refresh_token") == token:
            row.micropub = _kept(granted)
            row.save(update_fields=["micropub"])


def _kept(granted: Granted) -> dict[str, str]:
    return {
        "token": granted.token,
        "refresh_token": granted.refresh_token,
        "scope": " ".join(granted.scopes),
        "ends_at": granted.ends_at.isoformat() if granted.ends_at else "",
    }
