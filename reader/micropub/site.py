"""Micropub requests, without database."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode, urlsplit

from urllib3.filepost import encode_multipart_formdata

from common.net.client import Fetched, FetchError, client
from common.net.errors import AGAIN, host_of, never_left
from common.text import one_line, shortened
from feeds.parsing.media import absolute
from reader.indieauth.discovery import json_object, sentence
from reader.rules.micropub import LONGEST_PROBLEM, Config, Said, as_form, as_json, config_of, targets_of

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


@dataclass(frozen=True, slots=True)
class Site:
    """No other server may get the token."""

    endpoint: str
    token: str = field(repr=False)

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}", "Accept": JSON}


@dataclass(frozen=True, slots=True)
class Picture:
    """Photo: the site's `url`, or `data`."""

    pk: int
    name: str
    media_type: str
    alt: str
    url: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class SiteAnswer:
    """Result of a post: posted, refused, later (nothing arrived) or unsure.

    `location` may be ""; `wait` is Retry-After.
    """

    verdict: str
    location: str = ""
    problem: str = ""
    wait: timedelta | None = None


def ask_config(site: Site) -> Config:
    """Return an empty configuration if invalid."""
    answer = _asked(site, {"q": "config"})
    config = config_of(answer, site.endpoint)
    if not config.targets and "syndicate-to" not in answer:
        config = Config(config.media, targets_of(_asked(site, {"q": "syndicate-to"})))
    return config


def newest_posts(site: Site) -> list[Any] | None:
    """Return the answer to `q=source`, if any."""
    items = _asked(site, {"q": "source", "limit": str(LOOKED_AT)}).get("items")
    return items[: 10 * LOOKED_AT] if isinstance(items, list) else None


def upload(site: Site, media: str, picture: Picture) -> SiteAnswer:
    """Upload a picture (§3.6.1). Harmless if repeated."""
    file = (picture.name, picture.data, picture.media_type)
    body, kind = encode_multipart_formdata({"file": file})
    answer = _post(site, media, body, kind)
    if answer.verdict == "posted" and not answer.location:
        return SiteAnswer("refused", problem=f"{host_of(media)} didn’t return the picture’s address.")
    return answer


def create(site: Site, said: Said, pictures: Iterable[Picture]) -> SiteAnswer:
    """Create a post, with pictures that have no address (§3.3)."""
    shown = list(pictures)
    files = [picture for picture in shown if not picture.url]
    if files:
        name = "photo[]" if len(shown) > 1 else "photo"
        parts = [(name, (one.name, one.data, one.media_type)) for one in files]
        fields = as_form(said, [one.url for one in shown if one.url])
        body, kind = encode_multipart_formdata([*fields, *parts])
    elif any(picture.alt for picture in shown):
        document = as_json(said, [(picture.url, picture.alt) for picture in shown])
        body, kind = json.dumps(document).encode(), JSON
    else:
        body, kind = urlencode(as_form(said, [one.url for one in shown])).encode(), FORM
    return _post(site, site.endpoint, body, kind)


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
