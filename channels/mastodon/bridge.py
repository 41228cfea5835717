"""OAuth with any instance, where Feedletter registers itself."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any, cast
from urllib.parse import urlsplit

import requests
from django.conf import settings
from mastodon import Mastodon

from channels import fields
from channels.announcement import EPOCH, Announcement
from channels.base import (
    NO_POST,
    Ambiguous,
    CrashPolicy,
    LaneDefaults,
    Looks,
    Message,
    Outcome,
    Permanent,
    Sent,
    Temporary,
)
from channels.bridge import Bridge
from channels.fields import nickname
from channels.http.client import ApiClient, Failed, UnreadableAnswer, first_accepted, host_of
from channels.http.links import StatusLimits, graphemes, status_length
from channels.http.session import DeletingSession, EditingSession, carrying, not_looked_up, post_thread
from channels.http.transport import ApiResponse
from channels.mastodon.client import MASTODON, NEEDED, OUR_SCOPES, SCOPES, WHO, WHO_BEFORE, Client
from channels.mastodon.message import Status, instances, status_of
from channels.mastodon.uploads import Uploads
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
from common.ports.channels import InvalidDestination, ParsedDestination

APP_NAME = "Feedletter"
PKCE = "S256"
VISIBILITIES = {
    "public": "Public",
    "unlisted": "Unlisted: not in public timelines; usual for accounts that post often",
    "private": "Followers only",
}
QUOTERS = {"": "The account’s default", "public": "Anyone", "followers": "Followers", "nobody": "Nobody"}
LONGEST_WARNING = 200
TOKEN_HELP = (
    f"On the instance, choose Preferences, Development, New application, with the scopes {SCOPES}. "
    "Also mark the account as automated there."
)
HOW = f"Create one on the instance under Preferences, Development, with the scopes {SCOPES}."
# Mastodon keeps an Idempotency-Key for an hour; ten minutes are for clocks and this request.
KEY_HOLDS = timedelta(minutes=50)


class MastodonBridge(EditingSession, DeletingSession, Bridge):
    key = "mastodon"
    label = "Mastodon"
    sentence = "Posts to your account on any instance."
    crash_policy = CrashPolicy.LOOK_UP
    # Well below 300 statuses in 3 hours, and easy on followers.
    lane = LaneDefaults(spacing_seconds=60.0)
    address_field, token_help = "instance_url", HOW
    oauth = "channels.mastodon.bridge.MastodonConnect"
    # Two nicknames are two accounts.
    core_is_chosen = True
    announcement_hook = "mastodon_announcement"
    destination_fields = (
        fields.ACCOUNT,
        fields.server("instance_url", "Instance", example="mastodon.example"),
        fields.secret("access_token", "Access token", TOKEN_HELP),
    )
    own_options = (
        fields.choice("visibility", "Visibility", "", VISIBILITIES),
        fields.LANGUAGE,
        fields.line("spoiler", "Content warning", "Shown before each post.", most=LONGEST_WARNING),
        fields.PICTURES,
        fields.HASHTAGS,
        fields.SUMMARY,
        fields.THREAD,
        fields.choice("quotes", "Who can quote", "Only from Mastodon 4.5 on.", QUOTERS),
    )
    service = MASTODON
    known = instances()

    def place(self, config: Mapping[str, str]) -> str:
        number = config.get("account_id", "")
        return f"{number} at {config['instance_url']}" if number else ""

    def public_page(self, config: Mapping[str, str]) -> str:
        name = config.get("account_name", "")
        return f"{config['instance_url']}/@{name}" if name else ""

    def domain(self, core: str) -> str:
        return urlsplit(f"//{core}").hostname or ""

    def body(self, post: Announcement, options: Mapping[str, str]) -> Status:
        return status_of(post, options)

    def looks(self, body: Status) -> Looks:
        """Use the default limits; for a thread, measure the first status."""
        limits, warning = StatusLimits(), body.spoiler
        texts = body.texts(limits)
        return Looks(
            "\n\n".join(filter(None, (warning, texts[0]))),
            status_length(texts[0], limits.per_url) + graphemes(warning),
            limits.characters,
            pictures=tuple(image.url for image in body.images),
            answers=tuple(texts[1:]),
            notes=("The pictures are hidden until someone reveals them.",) if body.sensitive else (),
        )

    def post(self, api: ApiClient, body: Status) -> Outcome:
        """Post once, continuing a thread.

        An unfinished attempt is repeated while its key is honoured, else looked up.
        """
        client, begun_at = Client(api), api.begun_at
        # A clock that was ahead says nothing of the key's age.
        key_holds = begun_at is not None and timedelta(0) <= api.now - begun_at < KEY_HOLDS
        try:
            instance = self.known.get(api.url, client.instance)
        except Failed as failed:
            return failed.outcome if begun_at is None else not_looked_up(failed.outcome, holds=not key_holds)
        repeats, uploads = key_holds and instance.honours_keys, Uploads(client, instance, api.progress)
        since = begun_at if begun_at and begun_at <= api.now else EPOCH
        look_up = partial(client.find, body, since=since) if begun_at and not repeats else None

        def post(version: tuple[list[str], bool]) -> Sent:
            texts, is_plain = version

            def post_one(text: str, key: str, before: str) -> Sent:
                images = () if before or is_plain else body.images[: instance.images]
                media = uploads.ready(images, api.now) if images else ()
                return client.post(body, text, key, media=media, before=before)

            return post_thread(texts, post_one, key=api.key, progress=api.progress, look_up=look_up)

        try:
            return first_accepted(_versions(body, instance.limits), post)
        except Failed as failed:
            outcome = carrying(failed.outcome, uploads.progress)
        if isinstance(outcome, Permanent):
            # The limits may have changed.
            self.known.forget(api.url)
        if repeats and isinstance(outcome, Temporary):
            # Keep the first attempt's time.
            return Ambiguous(outcome.text, progress=outcome.progress)
        return outcome

    def change(self, api: ApiClient, body: Status, remote_id: str, parts: Sequence[str]) -> Outcome:
        """Pictures and number of statuses remain."""
        client = Client(api)

        def edit(limits: StatusLimits) -> Sent:
            statuses = zip((remote_id, *parts), body.texts(limits), strict=False)
            edited = [client.edit(status_id, body, text) for status_id, text in statuses]
            return replace(edited[0], parts=tuple(parts))

        usual = self.known.get(api.url, client.instance).limits
        try:
            return first_accepted((usual, usual.smaller), edit)
        except Failed as failed:
            if isinstance(failed.outcome, Permanent) and api.answer.status == 404:
                return NO_POST
            raise

    def remove(self, api: ApiClient, remote_id: str, parts: Sequence[str]) -> Sent:
        """Delete from the end of the thread."""
        client = Client(api)
        for status_id in (*reversed(parts), remote_id):
            client.delete(status_id)
        return Sent(remote_id)

    def checked(self, api: ApiClient, destination: ParsedDestination) -> ParsedDestination:
        client = Client(api)
        (number, name), scopes = client.account(), client.scopes()
        for some, what in NEEDED:
            if scopes and not scopes & some:
                raise InvalidDestination(f"access_token: it isn’t allowed to {what}. {HOW}")
        known = {"account_id": number, "account_name": name}
        return replace(destination, config={**destination.config, **known})


def _versions(status: Status, limits: StatusLimits) -> Iterator[tuple[list[str], bool]]:
    """Yield texts, and whether without pictures. With a reserve, as the instance may count differently."""
    tried: list[tuple[list[str], bool]] = []
    for most, is_plain in ((limits, False), (limits.smaller, False), (limits.smaller, True)):
        version = (status.texts(most), is_plain)
        if version not in tried:
            tried.append(version)
            yield version


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
        try:
            ask_service(partial(_token, url, form), url, host_of(url), hidden=(app["client_secret"],))
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
        hidden = (code, app["client_secret"], kept.get("code_verifier", ""))
        token = ask_service(partial(_token, url, form), url, host_of(url), hidden=hidden)
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


def _token(url: str, form: Mapping[str, str], client: ApiClient) -> str:
    def read(answer: ApiResponse) -> str:
        return a_secret(answer.at("access_token"))

    return client.call("POST", f"{url}/oauth/token", read=read, data=form)
