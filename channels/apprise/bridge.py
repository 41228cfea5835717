"""Sends with Apprise and interprets its log."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from channels import fields
from channels.announcement import Announcement
from channels.apprise.service import ApprisedService, CannotUse, service_address
from channels.base import Ambiguous, CrashPolicy, LaneDefaults, Looks, Outcome, Permanent, Sent, Temporary
from channels.bridge import Bridge
from channels.http.client import ApiClient, Target, masked
from channels.http.links import WORD_JOINER
from channels.http.outcomes import ABOUT_MESSAGE, LONGEST_WORDS, SERVICE_DOWN, ApiService
from channels.wording import parts_of
from common.net.addresses import Network
from common.ports.channels import InvalidDestination, ParsedDestination
from common.truncation import FittingPart, fit_parts

MOST_CHARACTERS = 2_000
# Mentions, and beginnings of Markdown or bracketed links.
_SIGNS = re.compile(r"@|<|\](?=[(\[])")
# Apprise hides the answer's text, so a refusal counts only if it persists.
REFUSALS, REFUSALS_BELIEVED = (401, 403, 404, 410), 3
# Status codes in Apprise's logs.
_STATUS = re.compile(r"error=(\d{3})\b")


def apprise_url(typed: str) -> str:
    service_address(typed)
    return typed


class AppriseBridge(Bridge):
    """Services that have no folder in channels/."""

    key = "apprise"
    label = "Apprise (without receipts)"
    sentence = "Posts through Teams, Gotify, Pushover, Signal and some fifty other services."
    # No key, and no look-up.
    crash_policy = CrashPolicy.HOLD
    # Its slowest services require 5.5 seconds between messages.
    lane = LaneDefaults(spacing_seconds=6.0)
    address_field = "apprise_url"
    destination_fields = (
        fields.name("phone"),
        fields.secret(
            "apprise_url",
            "Apprise URL",
            "One service and one target, such as gotifys://host/token. Apprise only reports whether "
            "the service accepted a message, so posts can’t be edited or deleted later.",
            apprise_url,
        ),
    )
    service = ApiService(name="Apprise", words=lambda answer: "")
    # Private networks that may be called. None: as the settings say.
    allow: Sequence[Network] | None = None

    def destination(self, given: Mapping[str, str]) -> ParsedDestination:
        """The `core` is name@service."""
        schema, _ = service_address(given["apprise_url"])
        account = given["account"]
        return ParsedDestination(
            core=f"{account}@{schema}",
            label=f"{account} by {schema}",
            config={"account": account},
            secrets={"apprise_url": given["apprise_url"]},
        )

    def body(self, post: Announcement, options: Mapping[str, str]) -> tuple[FittingPart, ...]:
        """Break mentions by an invisible joiner. Not yet cut to the service's limit."""
        return tuple(
            part if part.link else replace(part, text=_SIGNS.sub(rf"\g<0>{WORD_JOINER}", part.text))
            for part in parts_of(post, options.get("template", ""))
        )

    def looks(self, body: Sequence[FittingPart]) -> Looks:
        """Our own limit; the service's may be lower."""
        text = fit_parts(body, lambda text: len(text) <= MOST_CHARACTERS)
        return Looks(text.replace(WORD_JOINER, ""), len(text), MOST_CHARACTERS)

    def hidden(self, to: Target) -> list[str]:
        """All but short words and the server's name."""
        url = self.address(to)
        parts, (_, host) = re.split("[/?&=:@]", url), service_address(url)
        return [url, *(part for part in parts if len(part) >= 8 and part.lower() != host)]

    def post(self, api: ApiClient, body: Sequence[FittingPart]) -> Outcome:
        """Three refusals, counted in `progress`, disable the destination."""
        try:
            service = self._service(api)
            most = min(service.most_characters, MOST_CHARACTERS)
            is_sent, words = service.send(fit_parts(body, lambda text: len(text) <= most))
        except CannotUse as error:
            return masked(Temporary(f"Nothing was posted: {error}", stops_lane=True), api.secrets)
        outcome = Sent() if is_sent else _refusal(words, service_address(api.url)[0], api.progress)
        return masked(outcome, api.secrets)

    def checked(self, api: ApiClient, destination: ParsedDestination) -> ParsedDestination:
        """Nothing is posted, so the token is not tested."""
        try:
            self._service(api).reach()
        except CannotUse as error:
            raise InvalidDestination(f"apprise_url: {error}") from None
        return destination

    def _service(self, api: ApiClient) -> ApprisedService:
        return ApprisedService(api.url, timeout=self.timeout, allow=self.allow)


def _refusal(words: str, schema: str, progress: Mapping[str, Any]) -> Outcome:
    said = f"{schema}, by Apprise: {words[:LONGEST_WORDS] or 'not sent.'}"
    match = _STATUS.search(words)
    if match is None:
        # A lost answer cannot be told from other failures.
        return Ambiguous(said)
    status = int(match[1])
    if status in REFUSALS:
        count = int(progress.get("refusals", 0)) + 1
        if count >= REFUSALS_BELIEVED:
            return Permanent(f"{said} Save a working URL.", disables=True)
        return Temporary(said, progress={"refusals": count})
    if status in ABOUT_MESSAGE:
        return Permanent(said)
    stops = status == 429 or status in SERVICE_DOWN or 300 <= status < 400
    return Temporary(said, stops_lane=stops, suspect=stops)
