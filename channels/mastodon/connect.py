"""OAuth with any instance, where Feedletter registers itself."""

from collections.abc import Mapping
from contextlib import closing
from functools import partial
from typing import Any, cast

import requests
from django.conf import settings
from mastodon import Mastodon

from channels.base import Message
from channels.fields import nickname
from channels.http.client import ApiClient, Failed, UnreadableAnswer, host_of
from channels.http.transport import ApiResponse
from channels.mastodon.bridge import MastodonBridge
from channels.mastodon.client import OUR_SCOPES, WHO, WHO_BEFORE, Client
from channels.oauth import (
    AppUnknown,
    Authorisation,
    Grant,
    NotConnected,
    OAuth,
    a_secret,
    ask_service,
    authorise_url,
    new_verifier,
    token_form,
)
from common.clock import utcnow

APP_NAME = "Feedletter"
PKCE = "S256"


class MastodonConnect(OAuth):
    key = "mastodon-app"
    label = "Mastodon instance"
    service = "Mastodon"
    asks = ("instance_url",)

    def known_as(self, given: Mapping[str, str]) -> str:
        return host_of(given["instance_url"])

    def register(self, given: Mapping[str, str], return_url: str) -> Mapping[str, str]:
        url = given["instance_url"]
        who = WHO if WHO in _said_of_oauth(url).get("scopes_supported", ()) else WHO_BEFORE
        scopes = [*OUR_SCOPES, who]

        def register(client: ApiClient) -> Mapping[str, str]:
            transport = client.transport

            def registered() -> Mapping[str, str]:
                Mastodon.create_app(
                    APP_NAME,
                    scopes=scopes,
                    redirect_uris=return_url,
                    website=settings.SITE_URL,
                    api_base_url=url,
                    request_timeout=client.timeout,
                    session=cast(requests.Session, transport),
                    user_agent=str(transport.session.headers["User-Agent"]),
                )
                answer = transport.answer
                if answer is None or not answer.ok:
                    raise UnreadableAnswer("no success")
                made = {name: a_secret(answer.at(name)) for name in ("client_id", "client_secret")}
                return {**made, "scopes": " ".join(scopes)}

            return client.ask(registered)

        return ask_service(register, url, host_of(url))

    def is_known(self, app: Mapping[str, str], given: Mapping[str, str]) -> bool:
        """An instance forgets unauthorized applications after a day."""
        url = given["instance_url"]
        form = {
            "grant_type": "client_credentials",
            "client_id": app["client_id"],
            "client_secret": app["client_secret"],
            "scope": "read:statuses",
        }
        ask = partial(_post, f"{url}/oauth/token", form, lambda answer: a_secret(answer.at("access_token")))
        try:
            ask_service(ask, url, host_of(url), hidden=(app["client_secret"],))
        except AppUnknown:
            return False
        except NotConnected:
            # Not every server gives a token to an application alone.
            return True
        return True

    def begin(
        self, given: Mapping[str, str], return_url: str, state: str, app: Mapping[str, str]
    ) -> Authorisation:
        url, kept = given["instance_url"], {"instance_url": given["instance_url"]}
        more = {"scope": app["scopes"], "state": state}
        if PKCE in _said_of_oauth(url).get("code_challenge_methods_supported", ()):
            verifier, challenge = new_verifier()
            more |= {"code_challenge": challenge, "code_challenge_method": PKCE}
            kept["code_verifier"] = verifier
        return Authorisation(authorise_url(f"{url}/oauth/authorize", app, return_url, **more), kept)

    def finish(self, code: str, return_url: str, kept: Mapping[str, str], app: Mapping[str, str]) -> Grant:
        url = kept["instance_url"]
        more = {"scope": app["scopes"]}
        if "code_verifier" in kept:
            more["code_verifier"] = kept["code_verifier"]
        form = token_form(code, return_url, app, **more)
        ask = partial(_post, f"{url}/oauth/token", form, lambda answer: a_secret(answer.at("access_token")))
        hidden = (code, app["client_secret"], kept.get("code_verifier", ""))
        token = ask_service(ask, url, host_of(url), hidden=hidden)
        return Grant({"instance_url": url, "access_token": token, "account": _account_of(url, token)})


def _account_of(url: str, token: str) -> str:
    with closing(MastodonBridge()) as session:
        api = session.api(Message(None, {"instance_url": url}, {"access_token": token}), utcnow())
        try:
            return nickname(Client(api).account()[1])
        except (Failed, ValueError):
            raise NotConnected(f"{api.host} returned a token, but not its account.") from None


def _said_of_oauth(url: str) -> Mapping[str, Any]:
    """Return metadata (RFC 8414; Mastodon from 4.3 on). Raises NotConnected."""

    def read(answer: ApiResponse) -> Mapping[str, Any]:
        # Some servers answer unknown paths with a page.
        return answer.json if isinstance(answer.json, dict) else {}

    def ask(client: ApiClient) -> Mapping[str, Any]:
        try:
            return client.call("GET", f"{url}/.well-known/oauth-authorization-server", read=read)
        except Failed:
            if 0 < client.answer.status < 500:
                return {}
            raise

    said = ask_service(ask, url, host_of(url))
    return {name: value for name, value in said.items() if isinstance(value, list)}


def _post(url: str, form: Mapping[str, str], read: Any, client: ApiClient) -> str:
    return str(client.call("POST", url, read=read, data=form))
