import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from demo.answer import NOT_FOUND, ApiAnswer, ApiRequest
from demo.discord.interactions import Interactions
from demo.discord.limits import InvalidBody, refuse_commands

KEPT_IN = "discord.json"
FIRST_COMMAND_ID = 80


@dataclass
class Known:
    """`commands` by API path, names of `guilds` by id."""

    application: dict[str, Any] = field(default_factory=dict)
    commands: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    guilds: dict[str, str] = field(default_factory=dict)
    grants: list[dict[str, Any]] = field(default_factory=list)


class Portal:
    """Stored in `folder`, if there is one."""

    def __init__(self, interactions: Interactions, *, folder: Path | None = None, name: str = "") -> None:
        ours = interactions.application
        self.interactions = interactions
        self._file = folder / KEPT_IN if folder else None
        about = {"id": ours.id, "verify_key": ours.public_key, "name": name}
        self.known = Known(application=about)
        if self._file and self._file.exists():
            self.known = Known(**json.loads(self._file.read_text(encoding="utf-8")))
            interactions.endpoint = self.known.application.get("interactions_endpoint_url", "")

    @property
    def commands(self) -> list[dict[str, Any]]:
        place = f"/applications/{self.interactions.application.id}/commands"
        return self.known.commands.get(place, [])

    def install(self, guild: str, name: str) -> None:
        self.known.guilds[guild] = name
        self._keep()
        url = self.known.application.get("event_webhooks_url", "")
        data = {"integration_type": 0, "guild": {"id": guild, "name": name, "preferred_locale": "en-US"}}
        event = {"type": 1, "event": {"type": "APPLICATION_AUTHORIZED", "data": data}}
        # A program that misses this learns of the server from the first command.
        with suppress(OSError):
            self.interactions.tell(url, event)

    def answer(self, request: ApiRequest, place: str) -> ApiAnswer:
        """The caller has checked the bot's token."""
        if match := re.fullmatch(r"/guilds/(\d+)", place):
            if match[1] in self.known.guilds:
                return ApiAnswer({"id": match[1], "name": self.known.guilds[match[1]]})
            return ApiAnswer({"message": "Unknown Guild", "code": 10004}, 404)
        if place == "/applications/@me":
            is_change = request.method == "PATCH"
            return self._changed(json.loads(request.body) if is_change else {})
        if place.endswith("/commands/permissions"):
            return ApiAnswer(self.known.grants)
        if re.fullmatch(rf"/applications/{self.interactions.application.id}(/guilds/\d+)?/commands", place):
            if request.method == "PUT" and (refusal := self._put(place, json.loads(request.body))):
                return refusal
            return ApiAnswer(self.known.commands.get(place, []))
        return NOT_FOUND

    def _changed(self, changes: Mapping[str, Any]) -> ApiAnswer:
        """Verify an endpoint before storing it."""
        url = str(changes.get("interactions_endpoint_url") or "")
        if url and (wrong := self.interactions.wrong_with(url)):
            return ApiAnswer({"message": f"{url} could not be verified: {wrong}", "code": 50035}, 400)
        self.interactions.endpoint = url or self.interactions.endpoint
        self.known.application.update(changes)
        self._keep()
        return ApiAnswer(self.known.application)

    def _put(self, place: str, wanted: list[dict[str, Any]]) -> ApiAnswer | None:
        """Return a refusal, if any."""
        try:
            refuse_commands(wanted)
        except (InvalidBody, LookupError, TypeError) as error:
            self.interactions.faults.append(str(error))
            return ApiAnswer({"message": f"Invalid Form Body: {error}", "code": 50035}, 400)
        self.known.commands[place] = [
            {**one, "id": str(FIRST_COMMAND_ID + number)} for number, one in enumerate(wanted)
        ]
        self._keep()
        return None

    def _keep(self) -> None:
        if self._file:
            self._file.write_text(json.dumps(asdict(self.known)), encoding="utf-8")
