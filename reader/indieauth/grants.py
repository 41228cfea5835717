"""Metadata of clients (§4.2)."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from urllib.parse import urljoin, urlsplit

from django.core.cache import cache
from django.db import transaction

from common.net.client import Fetched
from common.net.errors import host_of
from common.refused import Refused
from common.text import one_line, shortened
from feeds.parsing.discovery import decoded
from feeds.parsing.h_social import address_of, found_in, text_of, values_of
from feeds.parsing.media import absolute
from reader.indieauth.discovery import NotConfirmed, declared_links, fetched, json_object
from reader.models import Code, Reader, Token
from reader.people.readers import may_read
from reader.people.tokens import LONGEST_CLIENT, digest_of, ends_at, make_token, new_key, revoke
from reader.rules.identity import is_on_loopback, origin_of, proves
from reader.rules.parameters import known_scopes

KEPT_SECONDS = 600
MOST_RETURNS = 50
CODE_LASTS = timedelta(minutes=5)
# To notice a second use.
CODES_KEPT = timedelta(days=7)


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


class NotGranted(Refused):
    """RFC 6749 §5.2: `code` is for programs, the message for developers."""

    def __init__(self, message: str, code: str = "invalid_grant") -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Given:
    """Token and its keys, which are not stored."""

    token: Token
    key: str = field(repr=False)
    refresh_key: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Exchange:
    """Redemption of a code (IndieAuth §5.3)."""

    code: str = field(repr=False)
    client_id: str
    redirect_uri: str
    verifier: str = field(repr=False)


def make_code(
    *,
    reader: Reader,
    client: ClientPage,
    redirect_uri: str,
    challenge: str,
    scopes: Collection[str],
    now: datetime,
) -> str:
    Code.objects.filter(made_at__lt=now - CODES_KEPT).delete()
    code = new_key()
    Code.objects.create(
        reader=reader,
        digest=digest_of(code),
        client=client.label,
        client_id=client.client_id,
        redirect_uri=redirect_uri,
        challenge=challenge,
        scopes=known_scopes(scopes),
        made_at=now,
    )
    return code


def redeem_for_name(shown: Exchange, *, now: datetime) -> Code:
    """Use up a code without issuing a token (§5.3.1). Raises NotGranted."""
    code = _checked(shown, now)
    if not _use_up(code, now):
        raise _shown_again(code, now)
    return code


def redeem(shown: Exchange, *, now: datetime) -> Given:
    """Redeem a code. A second use revokes the token. Raises NotGranted."""
    code = _checked(shown, now)
    with transaction.atomic():
        if is_first := _use_up(code, now):
            if not code.scopes:
                raise NotGranted("The code was issued without a scope, so it can’t be exchanged for a token.")
            refresh_key = new_key()
            token, key = make_token(
                reader=code.reader,
                client=code.client,
                client_id=code.client_id,
                scopes=code.scopes,
                refresh_digest=digest_of(refresh_key),
                now=now,
            )
            Code.objects.filter(pk=code.pk).update(token=token)
    if not is_first:
        raise _shown_again(code, now)
    return Given(token, key, refresh_key)


def refresh(*, refresh_key: str, client_id: str, scopes: Collection[str], now: datetime) -> Given:
    """Rotate a token; old keys end (RFC 9700 §4.14.2). `scopes` may narrow it. Raises NotGranted."""
    digest = digest_of(refresh_key)
    live = Token.objects.select_related("reader__user").filter(revoked_at=None)
    token = live.filter(refresh_digest=digest).first()
    if token is None:
        # Two clients have it, and one is a thief.
        if spent := live.filter(spent_digest=digest).first():
            revoke(spent, now=now)
        raise NotGranted("The refresh token is unknown, used or revoked.")
    if token.client_id != client_id:
        raise NotGranted("The refresh token belongs to another client.")
    if not may_read(token.reader) or now >= ends_at(token):
        raise NotGranted("The refresh token has expired. Ask the person again.")
    if set(scopes) - set(token.scopes):
        raise NotGranted("Additional scopes need a new authorization.", "invalid_scope")
    key, next_key = new_key(), new_key()
    changed = {
        "digest": digest_of(key),
        "refresh_digest": digest_of(next_key),
        "spent_digest": digest,
        "scopes": known_scopes(scopes) or token.scopes,
        "last_used_at": now,
    }
    if not live.filter(pk=token.pk, refresh_digest=digest).update(**changed):
        raise NotGranted("The refresh token was just used.")
    token.refresh_from_db()
    return Given(token, key, next_key)


def revoke_by_key(*, key: str, now: datetime) -> None:
    """Accepts either key (RFC 7009)."""
    digest = digest_of(key)
    for name in ("digest", "refresh_digest"):
        if token := Token.objects.filter(**{name: digest}).first():
            revoke(token, now=now)


def _checked(shown: Exchange, now: datetime) -> Code:
    """Return a code that may be used up. Raises NotGranted."""
    rows = Code.objects.select_related("reader__user", "token")
    code = rows.filter(digest=digest_of(shown.code)).first()
    if code is None or (now >= code.made_at + CODE_LASTS and code.used_at is None):
        raise NotGranted("The code is unknown or older than five minutes.")
    if code.client_id != shown.client_id or code.redirect_uri != shown.redirect_uri:
        raise NotGranted("The code was issued for another client_id or redirect_uri.")
    if not proves(shown.verifier, code.challenge):
        raise NotGranted("The code_verifier doesn’t match the code_challenge.")
    if not may_read(code.reader):
        raise NotGranted("This person no longer uses this reader.")
    return code


def _use_up(code: Code, now: datetime) -> bool:
    return bool(Code.objects.filter(pk=code.pk, used_at=None).update(used_at=now))


def _shown_again(code: Code, now: datetime) -> NotGranted:
    """A code that is used twice revokes its token (RFC 6749 §4.1.2)."""
    if token := Token.objects.filter(code=code).first():
        revoke(token, now=now)
    return NotGranted("The code was already used. Its tokens have been revoked.")
