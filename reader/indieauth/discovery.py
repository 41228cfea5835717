import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from django.conf import settings
from django.urls import reverse

from common.net.addresses import read_address
from common.net.client import AddressRefused, Fetched, FetchError, client
from common.net.errors import host_of
from common.refused import Refused
from feeds.parsing.discovery import decoded, links_of_header, start_tags
from feeds.parsing.media import absolute
from reader.models import Reader
from reader.rules.identity import origin_of, profile_url

# Redirect targets after consent. Each caller of `begin` adds its own.
RETURNS: tuple[str, ...] = ("reader:site_back", "reader_sign_in_back", "reader:connected")
SECONDS = 5.0
MAX_BYTES = 1_000_000
PERMANENT = (301, 308)
METADATA, AUTHORIZATION, TOKEN = "indieauth-metadata", "authorization_endpoint", "token_endpoint"
MICROPUB, MICROSUB = "micropub", "microsub"
_WANTED = (METADATA, AUTHORIZATION, TOKEN, MICROPUB, MICROSUB)


def site_url(name: str, *args: object) -> str:
    return settings.SITE_URL + reverse(name, args=args)


def issuer() -> str:
    """Return the identifier of RFC 9207."""
    return f"{settings.SITE_URL}/"


def profile_of(reader: Reader) -> str:
    return site_url("reader:profile", reader.slug)


def our_client_id() -> str:
    return site_url("reader:client_document")


def is_trial() -> bool:
    """Return whether the site is on a loopback address."""
    host = urlsplit(settings.SITE_URL).hostname or ""
    address = read_address(host)
    return host == "localhost" or bool(address and address.is_loopback)


class NotConfirmed(Refused):
    """Unconfirmed identity. The message is for the person."""


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Endpoints of the page at `me`, "" if missing. `urls` redirect to it.

    Responses have to name the `issuer`, if any (RFC 9207).
    """

    me: str
    authorization: str
    urls: tuple[str, ...] = ()
    token: str = ""
    introspection: str = ""
    issuer: str = ""
    micropub: str = ""
    microsub: str = ""

    def is_of_same_server(self, other: "Endpoints") -> bool:
        return (self.authorization, self.issuer) == (other.authorization, other.issuer)


def discover(me: str) -> Endpoints:
    """Raises NotConfirmed. Two requests.

    Only permanent redirects at the start change the profile URL (§4.1).
    """
    me = _profile(me)
    if origin_of(me) == origin_of(issuer()):
        raise NotConfirmed("That’s the address of this site. Enter the address of your website.", "me")
    page = _by_https(fetched(me, accept="text/html, */*;q=0.1"))
    if page.status != 200:
        raise NotConfirmed(f"{host_of(page.url)} returned an error (HTTP {page.status}).", "me")
    canonical, is_permanent = me, True
    for status, url in page.redirects:
        is_permanent = is_permanent and status in PERMANENT
        canonical = url if is_permanent else canonical
    relations = _relations(page)
    endpoints = Endpoints(
        me=_profile(canonical),
        urls=tuple(dict.fromkeys((me, *(url for _, url in page.redirects)))),
        authorization=relations.get(AUTHORIZATION, ""),
        token=relations.get(TOKEN, ""),
        micropub=relations.get(MICROPUB, ""),
        microsub=relations.get(MICROSUB, ""),
    )
    if METADATA in relations:
        endpoints = _with_metadata(endpoints, relations[METADATA])
    if not endpoints.authorization:
        raise NotConfirmed(
            f"The page at {host_of(me)} doesn’t say where you sign in. It needs a link with "
            "rel=indieauth-metadata or rel=authorization_endpoint.",
            "me",
        )
    return endpoints


def fetched(url: str, *, accept: str) -> Fetched:
    """Fetch at most 1 MB in five seconds, with any status. Raises NotConfirmed."""
    try:
        return client().get(url, headers={"Accept": accept}, timeout=SECONDS, max_bytes=MAX_BYTES)
    except FetchError as error:
        raise NotConfirmed(sentence(error, url)) from error


def sentence(error: FetchError, url: str) -> str:
    """Return a message without addresses of private networks."""
    if isinstance(error, AddressRefused):
        return f"{host_of(url)} isn’t on the public web."
    return str(error)


def endpoints_of(kept: Mapping[str, Any]) -> Endpoints:
    return Endpoints(**{**kept, "urls": tuple(kept.get("urls", ()))})


def fields_of(answer: Fetched) -> Mapping[str, Any]:
    """Parse JSON, or a form from an older server."""
    if fields := json_object(answer.body):
        return fields
    try:
        return dict(parse_qsl(answer.body.decode(), max_num_fields=50))
    except ValueError:
        return {}


def json_object(body: bytes) -> dict[str, Any]:
    """Return {} for anything else."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def declared_links(page: Fetched) -> Iterator[tuple[str, str, str]]:
    """Yield (relation, unresolved target, base), the Link header first."""
    for relation, target in links_of_header(page.headers.get("link", "")):
        yield relation, target, page.url
    html, base = decoded(page.body, page.headers.get("content-type", "")), page.url
    for tag in start_tags(html):
        if tag.name == "base" and base == page.url:
            base = absolute(tag.get("href"), page.url) or page.url
        elif tag.name in ("link", "a") and "href" in tag.attributes:
            for relation in sorted(tag.tokens("rel")):
                yield relation, tag.get("href"), base


def _relations(page: Fetched) -> dict[str, str]:
    urls: dict[str, str] = {}
    for relation, target, base in declared_links(page):
        if relation in _WANTED and relation not in urls and (url := _endpoint(target, base)):
            urls[relation] = url
    return urls


def _with_metadata(endpoints: Endpoints, url: str) -> Endpoints:
    """Apply the server's metadata, which precedes the page. Raises NotConfirmed."""
    answer = _by_https(fetched(url, accept="application/json"))
    about = json_object(answer.body) if answer.status == 200 else {}
    issuer = about.get("issuer")
    if not isinstance(issuer, str) or not _is_issuer_of(issuer, url):
        raise NotConfirmed(f"The sign-in details of {host_of(url)} can’t be used: {url}", "me")
    return replace(
        endpoints,
        issuer=issuer,
        authorization=_endpoint(about.get("authorization_endpoint"), url),
        token=_endpoint(about.get("token_endpoint"), url),
        introspection=_endpoint(about.get("introspection_endpoint"), url),
    )


def _profile(text: str) -> str:
    try:
        return profile_url(text, trial=is_trial())
    except Refused as error:
        raise NotConfirmed(str(error), "me") from error


def _by_https(answer: Fetched) -> Fetched:
    """Refuse redirects without TLS: codes are sent where the answer says."""
    for _, url in answer.redirects:
        if not url.startswith("https://") and not is_trial():
            raise NotConfirmed(f"{host_of(url)} doesn’t use encryption, so it can’t prove who you are.", "me")
    return answer


def _is_issuer_of(issuer: str, url: str) -> bool:
    """§4.1.1: an HTTPS prefix of the metadata's address, without query and fragment."""
    try:
        parts, there = urlsplit(issuer), urlsplit(url)
    except ValueError:
        return False
    is_safe = parts.scheme == "https" or is_trial()
    return (
        is_safe
        and "?" not in issuer
        and "#" not in issuer
        and (parts.scheme, parts.netloc) == (there.scheme, there.netloc)
        and there.path.startswith(parts.path)
    )


def _endpoint(target: object, base: str) -> str:
    """Require HTTPS, since codes and tokens are sent there."""
    url = absolute(target, base) if isinstance(target, str) else ""
    return url if url.startswith("https://") or is_trial() else ""
