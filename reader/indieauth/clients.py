"""Metadata of clients (§4.2)."""

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

from django.core.cache import cache

from common.net.client import Fetched
from common.net.errors import host_of
from common.text import one_line, shortened
from feeds.parsing.discovery import decoded
from feeds.parsing.h_social import address_of, found_in, text_of, values_of
from feeds.parsing.media import absolute
from reader.indieauth.discovery import NotConfirmed, declared_links, fetched, json_object
from reader.people.tokens import LONGEST_CLIENT, digest_of
from reader.rules.identity import is_on_loopback, may_return_to, origin_of

KEPT_SECONDS = 600
MOST_RETURNS = 50


@dataclass(frozen=True, slots=True)
class ClientPage:
    """`problem` says why its page is unknown."""

    client_id: str
    name: str = ""
    url: str = ""
    logo: str = ""
    redirect_uris: tuple[str, ...] = ()
    problem: str = ""

    @property
    def host(self) -> str:
        return urlsplit(self.client_id).netloc

    @property
    def label(self) -> str:
        return self.name or shortened(self.host, LONGEST_CLIENT)

    def may_return_to(self, redirect_uri: str) -> bool:
        return may_return_to(redirect_uri, self.client_id, self.redirect_uris)


def read_client(client_id: str) -> ClientPage:
    """Fetch a client's page, cached for ten minutes.

    Loopback is the reader's own machine, so nothing is fetched (§3.3).
    """
    if is_on_loopback(client_id):
        return ClientPage(client_id, problem="It runs on your own computer.")
    key = f"indieauth-client-{digest_of(client_id)}"
    page: ClientPage | None = cache.get(key)
    if page is None:
        page = _read(client_id)
        cache.set(key, page, KEPT_SECONDS if not page.problem else KEPT_SECONDS // 10)
    return page


def _read(client_id: str) -> ClientPage:
    try:
        page = fetched(client_id, accept="application/json, text/html;q=0.9, */*;q=0.1")
    except NotConfirmed as error:
        return ClientPage(client_id, problem=str(error))
    if page.status != 200:
        return ClientPage(client_id, problem=f"{host_of(client_id)} answers with HTTP {page.status}.")
    # Another origin must not speak for it.
    if origin_of(page.url.partition("#")[0]) != origin_of(client_id):
        return ClientPage(client_id, problem=f"{host_of(client_id)} leads to {host_of(page.url)}.")
    if about := json_object(page.body):
        if about.get("client_id") != client_id:
            return ClientPage(client_id, problem="Its description names a different client_id.")
        returns = about.get("redirect_uris")
        return ClientPage(
            client_id,
            name=_name(about.get("client_name")),
            url=absolute(about.get("client_uri"), client_id),
            logo=absolute(about.get("logo_uri"), client_id),
            redirect_uris=_returns(one for one in returns if isinstance(one, str))
            if isinstance(returns, list)
            else (),
        )
    return _of_page(client_id, page)


def _of_page(client_id: str, page: Fetched) -> ClientPage:
    """Read an h-app and rel=redirect_uri, as older clients have."""
    from feeds.parsing.h_feed import APP_WORDS, microformats  # takes 4 MB

    returns = _returns(
        urljoin(base, target) for rel, target, base in declared_links(page) if rel == "redirect_uri"
    )
    html = decoded(page.body, page.headers.get("content-type", ""))
    try:
        items = microformats(html, page.url, APP_WORDS)["items"]
    except Exception:  # noqa: BLE001 - mf2py may raise anything over a stranger's page
        items = []
    for kind in ("h-app", "h-x-app"):
        for app in found_in(items, kind):
            logos = [*values_of(app, "logo"), *values_of(app, "photo")]
            return ClientPage(
                client_id,
                name=_name(text_of(app, "name")),
                url=absolute(next(map(address_of, values_of(app, "url")), ""), page.url),
                logo=absolute(next(map(address_of, logos), ""), page.url),
                redirect_uris=returns,
            )
    return ClientPage(client_id, redirect_uris=returns)


def _returns(urls: Iterator[str]) -> tuple[str, ...]:
    return tuple(url for _, url in zip(range(MOST_RETURNS), urls, strict=False) if origin_of(url))


def _name(value: object) -> str:
    return shortened(one_line(value), LONGEST_CLIENT) if isinstance(value, str) else ""
