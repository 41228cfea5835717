"""What a person's page says of where they sign in, post and read."""

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

# Where other sites may lead back to after somebody said yes there. Whatever asks them adds its own.
RETURNS: tuple[str, ...] = ("reader:site_back", "reader_sign_in_back", "reader:connected")


def site_url(name: str, *args: object) -> str:
    """The whole address of a page of ours."""
    return settings.SITE_URL + reverse(name, args=args)


def issuer() -> str:
    """What this site calls itself where it signs people in (RFC 9207)."""
    return f"{settings.SITE_URL}/"


def profile_of(reader: Reader) -> str:
    """The address that stands for a reader, where they sign in by this site."""
    return site_url("reader:profile", reader.slug)


def our_client_id() -> str:
    """The address that stands for this site, where it asks others to sign somebody in."""
    return site_url("reader:client_document")


def is_trial() -> bool:
    """Whether this site is only reached from its own machine."""
    host = urlsplit(settings.SITE_URL).hostname or ""
    address = read_address(host)
    return host == "localhost" or bool(address and address.is_loopback)


SECONDS = 5.0
MAX_BYTES = 1_000_000
PERMANENT = (301, 308)
# What a person's page may name.
METADATA, AUTHORIZATION, TOKEN = "indieauth-metadata", "authorization_endpoint", "token_endpoint"
MICROPUB, MICROSUB = "micropub", "microsub"
_WANTED = (METADATA, AUTHORIZATION, TOKEN, MICROPUB, MICROSUB)


class NotConfirmed(Refused):
    """Somebody's site did not say who they are. The message is for whoever sits there."""


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Addresses that the page at `me` names; "" for what it does not. `urls`: under which it was found.

    With an `issuer` its answers say whose they are (RFC 9207).
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
    """The endpoints of whoever has this address (network: two requests). Raises NotConfirmed.

    §4.1: permanent redirects at the beginning lead to the address that counts, others do not change it.
    """
    me = _profile(me)
    if origin_of(me) == origin_of(issuer()):
        raise NotConfirmed("This is the site that you read at. Give the address of your own one.", "me")
    page = _by_https(fetched(me, accept="text/html, */*;q=0.1"))
    if page.status != 200:
        raise NotConfirmed(f"{host_of(page.url)} answers with an error (HTTP {page.status}).", "me")
    canonical, is_permanent = me, True
    for status, url in page.redirects:
        is_permanent = is_permanent and status in PERMANENT
        canonical = url if is_permanent else canonical
    found = _relations(page)
    endpoints = Endpoints(
        me=_profile(canonical),
        urls=tuple(dict.fromkeys((me, *(url for _, url in page.redirects)))),
        authorization=found.get(AUTHORIZATION, ""),
        token=found.get(TOKEN, ""),
        micropub=found.get(MICROPUB, ""),
        microsub=found.get(MICROSUB, ""),
    )
    if METADATA in found:
        endpoints = _with_metadata(endpoints, found[METADATA])
    if not endpoints.authorization:
        raise NotConfirmed(
            f"The page at {host_of(me)} does not say where you sign in: it needs a link with"
            " rel=indieauth-metadata, or rel=authorization_endpoint.",
            "me",
        )
    return endpoints


def fetched(url: str, *, accept: str, headers: Mapping[str, str] | None = None) -> Fetched:
    """An answer of somebody's site, whatever its status: in five seconds, of 1 MB. Raises NotConfirmed."""
    try:
        sent = {"Accept": accept, **(headers or {})}
        return client().get(url, headers=sent, timeout=SECONDS, max_bytes=MAX_BYTES)
    except FetchError as error:
        raise NotConfirmed(sentence(error, url)) from error


def sentence(error: FetchError, url: str) -> str:
    """What went wrong, for strangers: where names of private networks lead to is nobody's business."""
    if isinstance(error, AddressRefused):
        return f"{host_of(url)} is not on the public web."
    return str(error)


def endpoints_of(kept: Mapping[str, Any]) -> Endpoints:
    """As `dataclasses.asdict` wrote them into JSON."""
    return Endpoints(**{**kept, "urls": tuple(kept["urls"])})


def fields_of(answer: Fetched) -> Mapping[str, Any]:
    """What an endpoint says: JSON, or a form as older servers write it."""
    if found := json_object(answer.body):
        return found
    try:
        return dict(parse_qsl(answer.body.decode(), max_num_fields=50))
    except ValueError:
        return {}


def json_object(body: bytes) -> dict[str, Any]:
    """{} for what is none."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def declared_links(page: Fetched) -> Iterator[tuple[str, str, str]]:
    """(relation, target as it stands, to what it is relative): of the Link header first, then of the page."""
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
    """Relation → the first address for it (§4.1)."""
    found: dict[str, str] = {}
    for relation, target, base in declared_links(page):
        if relation in _WANTED and relation not in found and (url := _endpoint(target, base)):
            found[relation] = url
    return found


def _with_metadata(endpoints: Endpoints, url: str) -> Endpoints:
    """What the server's own description says, which counts before the page. Raises NotConfirmed."""
    answer = _by_https(fetched(url, accept="application/json"))
    about = json_object(answer.body) if answer.status == 200 else {}
    issuer = about.get("issuer")
    if not isinstance(issuer, str) or not _is_issuer_of(issuer, url):
        raise NotConfirmed(f"What {host_of(url)} says of where you sign in cannot be used: {url}", "me")
    return replace(
        endpoints,
        issuer=issuer,
        authorization=_endpoint(about.get("authorization_endpoint"), url),
        token=_endpoint(about.get("token_endpoint"), url),
        introspection=_endpoint(about.get("introspection_endpoint"), url),
    )


def _profile(text: str) -> str:
    """Raises NotConfirmed."""
    try:
        return profile_url(text, trial=is_trial())
    except Refused as error:
        raise NotConfirmed(str(error), "me") from error


def _by_https(answer: Fetched) -> Fetched:
    """An answer that nobody could alter on its way: codes go where it says. Raises NotConfirmed."""
    for _, url in answer.redirects:
        if not url.startswith("https://") and not is_trial():
            raise NotConfirmed(f"{host_of(url)} is asked without encryption, so it proves nothing.", "me")
    return answer


def _is_issuer_of(issuer: str, url: str) -> bool:
    """§4.1.1: an https address without query and fragment that the metadata's address begins with."""
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
    """A code or a token goes there: only over https, but in trials."""
    url = absolute(target, base) if isinstance(target, str) else ""
    return url if url.startswith("https://") or is_trial() else ""
