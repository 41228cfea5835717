"""Without signing in, only the public pages open."""

import re
from collections.abc import Iterator

import pytest
from django.core.cache import cache
from django.http import HttpResponse
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from common.signing import WITH_TAIL

# Each with the reason why anyone may see it.
PUBLIC = {
    "favicon": "a picture",
    "robots": "says what search engines may look at",
    "healthz": "says that the process answers",
    "readyz": "says whether it can work",
    "metrics": "asks for a token, or for this machine",
    "admin_sign_in": "where admins sign in",
    "account_login": "where people sign in",
    "account_logout": "its sending limits",
    "openid_connect_login": "leads to the provider of identities",
    "openid_connect_callback": "its authority is what the provider says",
    "socialaccount_login_cancelled": "leads back to the sign-in",
    "account_inactive": "says that an account is switched off",
    "reader_sign_in_site": "where people sign in with their own site",
    "reader_sign_in_back": "where their own site leads back to",
    "reader_join": "where anybody may begin to read, if the site says so",
    "account_reset_password": "where people ask for a new password",
    "account_reset_password_done": "says that a mail comes, if there is such a user",
    "account_reset_password_from_key": "its authority is a token",
    "reader:invitation": "its authority is a one-time key",
    "setup": "its authority is a one-time token",
    "team_join": "its authority is a one-time token",
    "feeds:websub": "its authority is a token that only the hub knows",
    "api-schema": "describes the API, shows no data",
    "api-subscribe": "the sign-up, neutral and throttled",
    "subscriptions:newsletters": "the public list",
    "subscriptions:site_look": "the colours of the site's pages",
    "subscriptions:picture": "a picture that was uploaded for readers",
    "subscriptions:asked": "says that a mail is on its way, to who asked for it",
    "subscriptions:code": "its authority is what the form before it was told",
    "subscriptions:challenge": "a sum for browsers, nothing is kept of it",
    "subscriptions:confirm": "its authority is a signed token",
    "subscriptions:unsubscribe": "its authority is a token",
    "subscriptions:manage": "its authority is a token",
    "subscriptions:new_address": "its authority is a token",
    "subscriptions:old_address": "its authority is a token",
    "subscriptions:sign_in": "where a sign-in link is asked for",
    "subscriptions:sign_in_link": "its authority is a token",
    "subscriptions:embed": "the form, for frames on other sites",
    "subscriptions:subscribe": "the sign-up, for forms on other sites",
    "subscriptions:v0_create": "upstream's sign-up",
    "subscriptions:v0_confirm": "its authority is a proof in the link",
    "subscriptions:v0_remove": "its authority is a proof in the link",
    "delivery:newsletter": "a newsletter's page",
    "delivery:publication": "the address of a newsletter's records",
    "fediverse:webfinger": "a newsletter's account",
    "fediverse:nodeinfo_links": "says what this site is",
    "fediverse:nodeinfo": "says what this site is",
    "fediverse:site_actor": "this site's key",
    "fediverse:actor": "a newsletter's account",
    "fediverse:followers": "their number",
    "fediverse:outbox": "past issues",
    "fediverse:object": "one past issue",
    "fediverse:follow": "leads to the visitor's server",
    "fediverse:inbox": "its authority is a signature",
    "fediverse:actor_inbox": "its authority is a signature",
    "delivery:archive": "past issues",
    "delivery:issue": "one past issue",
    "delivery:hub": "programs ask for feeds there, and their callback has to agree",
    "delivery:issue_picture": "an issue's title as a picture",
    "delivery:sitemap": "the addresses of a public newsletter's pages",
    "delivery:sitemap_index": "names the sitemaps of public newsletters",
    "delivery:look": "the colours of a newsletter's pages",
    "delivery:feed": "past issues as RSS",
    "chat:interactions": "its authority is Discord's signature",
    "chat:events": "its authority is Discord's signature",
    "delivery:sms_inbound": "its authority is Twilio's signature",
    "delivery:sms_status": "its authority is Twilio's signature",
    "reader:microsub": "its authority is a token, and browsers ask first what they may",
    "reader:microsub_slash": "its authority is a token, and browsers ask first what they may",
    "reader:webmention": "strangers say there that they speak of a reader's page",
    "reader:webmention_slash": "strangers say there that they speak of a reader's page",
    "reader:client_document": "says what this site is, to sites that it asks to sign somebody in",
    "reader:profile": "what a reader shows of themselves to everyone",
    "reader:blogroll": "the feeds that a reader publishes, if any",
    "reader:picks": "starred posts that a reader shows everyone",
    "reader:picks_xml": "its authority is the address, which the reader may publish",
    "reader:picks_json": "its authority is the address, which the reader may publish",
    "reader:well_known_metadata": "says where clients find the rest",
    "reader:metadata": "says where clients find the rest",
    "reader:metadata_slash": "says where clients find the rest",
    "reader:authorize": "leads to the sign-in; of clients a code is the authority",
    "reader:authorize_slash": "leads to the sign-in; of clients a code is the authority",
    "reader:token": "its authority is a code or a token",
    "reader:token_slash": "its authority is a code or a token",
    "reader:revoke": "its authority is a token",
    "reader:revoke_slash": "its authority is a token",
    "reader:introspect": "its authority is a token",
    "reader:introspect_slash": "its authority is a token",
    "reader:greader": "its authority is a key in a header; it is 401, 404 or OK in text for others",
    "reader:greader_php": "its authority is a key in a header; it is 401, 404 or OK in text for others",
    "reader:media": "its authority is a stamp of ours in the address",
    "delivery:device": "a reader's device, which proves by its secret that it is the one",
    "delivery:push_renewed": "its authority is the old secret of a device",
    "delivery:push_worker": "a script for browsers",
    "delivery:manifest": "a newsletter's name, for home screens",
    "admin_password_change": "leads to a page that asks for a sign-in",
    "admin:password_change": "leads there, too",
    "admin:login": "the way in",
    "admin:logout": "its sending limits",
    "admin:jsi18n": "Django's own translations",
}
SAMPLES = {
    "int": "1",
    "str": "x",
    "slug": "x",
    "path": "x",
    "link_token": "x",
    "uuid": "9b2b6a1e-0d5c-4c5b-8f0e-3d5f7c1f2a11",
}


def addresses(patterns: list[URLPattern | URLResolver], prefix: str, space: str) -> Iterator[tuple[str, str]]:
    """Yield (name, URL) of every pattern, with samples for its parameters."""
    for each in patterns:
        route = prefix + sample(str(each.pattern))
        if isinstance(each, URLResolver):
            inner = f"{space}{each.namespace}:" if each.namespace else space
            yield from addresses(each.url_patterns, route, inner)
        else:
            # A link with a tail opens the same page.
            yield f"{space}{each.name}".removesuffix(WITH_TAIL), "/" + route


def sample(route: str) -> str:
    """Fill in `<int:pk>` and `(?P<pk>[^/.]+)`, and remove anchors."""
    filled = (
        re.sub(r"<(?:(\w+):)?\w+>", lambda found: SAMPLES[found[1] or "str"], route)
        if "(?P" not in route
        else route
    )
    filled = re.sub(r"\(\?P<\w+>[^)]*\)", "1", filled).partition("/?(?:")[0]
    return filled.replace("\\Z", "").strip("^$").replace("\\.", ".").replace("/?", "/")


TABLE = sorted(set(addresses(get_resolver().url_patterns, "", "")))


@pytest.mark.needs("reader")
@pytest.mark.needs("chat")
def test_the_walk_sees_every_part_of_the_site() -> None:
    names = {name for name, _ in TABLE}
    assert {"api-feed-list", "api-delivery-detail", "api-subscribe", "admin:index", "healthz"} <= names
    assert not {name for name in PUBLIC if not name.startswith("admin:")} - names


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize("method", ["get", "post", "delete"])
def test_a_stranger_is_sent_away(method: str) -> None:
    let_in = []
    for name, address in TABLE:
        if name in PUBLIC:
            continue
        # Requests are limited per minute, and this test visits every page.
        cache.clear()
        answer = getattr(Client(raise_request_exception=False), method)(address)
        if not is_sent_away(answer, method, address):
            let_in.append(f"{name} at {address}: {answer.status_code} {answer.get('Location', '')}")
    assert let_in == []


def is_sent_away(answer: HttpResponse, method: str, address: str) -> bool:
    if answer.status_code in {301, 302}:
        ways_in = {"/mine/": "/sign-in/", "/reader/": "/account/sign-in/", "/account/": "/account/sign-in/"}
        way_in = next((way for start, way in ways_in.items() if address.startswith(start)), "/admin/login/")
        return way_in in answer.headers["Location"]
    return answer.status_code in ({401, 403} if method == "get" else {401, 403, 405})
