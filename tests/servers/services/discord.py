"""Fake Discord on loopback: webhooks and bot channels, as strict as the real ones."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from demo.discord.limits import InvalidBody, refuse_post
from tests.environment import DISCORD
from tests.servers.api_server import ApiServer, Reply, Request
from tests.servers.consent import App, Consent

WEBHOOK_ID, TOKEN = "1100000000000000001", "webhook-token-AbCdEf_0123456789"
APP = App("1400000000000000004", "discord-app-s3cret", [])
BOT_TOKEN = DISCORD["DISCORD_BOT_TOKEN"]
BOT, GUILD, CHANNEL, FORUM_THREAD = "900", "700", "1200000000000000002", "1300000000000000003"
WEBHOOK = f"/api/v10/webhooks/{WEBHOOK_ID}/{TOKEN}"
EPOCH = datetime(2015, 1, 1, tzinfo=UTC)
TEXT, NEWS, FORUM, THREADS = 0, 5, 15, (10, 11, 12)
BOTS_ROLE, VIEW = "701", 1 << 10
# View, send, embed links, read the history, send in threads.
BOTS_RIGHTS = 1 << 10 | 1 << 11 | 1 << 14 | 1 << 16 | 1 << 38
LIMITS = {"title": 256, "description": 4096}
_MARKUP = re.compile(r"[*_~|>\[\]()#<:`\\]|@everyone|@here", re.IGNORECASE)
_OURS = re.compile(r"\[((?:[^\]\\\[]|\\.)*)\]\(<(https?://[^\s<>]+)>\)|<(https?://[^\s<>]+)>")
# Markup that we add around a short post: bold newsletter, age, quotation.
_FRAME = re.compile(r"^\*\*(?=.*\*\* · )|(?<!\\)\*\*(?= · )|(?<= · )<t:\d+:R>$|^> ", re.MULTILINE)
_BARE = re.compile(r"https?://[^\s<]+[^<.,:;\"'\]\s]")


def without_links(text: str, *, bare: bool = False) -> str:
    """Return the text without links, as Discord finds them. Keeps the words of named links."""
    text = _FRAME.sub("", _OURS.sub(lambda match: match[1] or "", text))
    return _BARE.sub("", text) if bare else text


def is_plain(text: str, *, bare: bool = False) -> bool:
    """Return whether nothing but links is markup or a mention."""
    return not _MARKUP.search(re.sub(r"\\[^0-9A-Za-z\s]", "", without_links(text, bare=bare)))


def shown(message: Mapping[str, Any]) -> str:
    """Return the text that people see of a message, addresses included."""
    card = message["embeds"][0] if message["embeds"] else {}
    texts = [message["content"], card.get("title", ""), card.get("description", "")]
    plain = [
        card.get("author", {}).get("name", ""),
        card.get("footer", {}).get("text", ""),
        card.get("url", ""),
    ]
    return "\n".join([*(re.sub(r"\\([^0-9A-Za-z\s])", r"\1", text) for text in texts), *plain])


class Discord(ApiServer):
    """Fake Discord. `says` is the reply to every request that makes a message."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[dict[str, Any]] = []
        self.now = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
        self.channel_type = TEXT
        self.needs_tag = self.takes_no_cards = False
        self.reads_history = True
        # Channels visible to the bot, each with its server.
        self.channels = {CHANNEL: GUILD, FORUM_THREAD: GUILD}
        # Permissions denied to the bot per channel, as bits; then extra fields of channels and of the bot.
        self.denied: dict[str, int] = {}
        self.about_channels: dict[str, dict[str, Any]] = {}
        self.about_bot: dict[str, Any] = {}
        self.followers_got: list[str] = []
        # Threads beneath messages: (message, name, minutes).
        self.threads: list[tuple[str, str, int]] = []
        self.tags: list[dict[str, str]] = []
        # Reply to a crosspost request; None: the usual one.
        self.crossposts: Reply | None = None
        self._nonces: dict[str, dict[str, Any]] = {}
        self.consent = Consent("Discord")
        self.consent.apps[APP.client_id] = App(APP.client_id, APP.client_secret, [], {"webhook.incoming"})
        # Webhooks made by OAuth or by the bot: channels by id; then whether the bot may make any.
        self.made: dict[str, str] = {}
        self.manages_webhooks = True
        self.chosen_channel = CHANNEL

    def _token(self, request: Request) -> Reply:
        """Exchange a code for a webhook in the chosen channel."""
        found = self.consent.redeem(request)
        if isinstance(found, str):
            return Reply(401 if found == "invalid_client" else 400, {"error": found})
        number = str(int(WEBHOOK_ID) + 1 + len(self.made))
        self.made[number] = self.chosen_channel
        about = {"id": number, "type": 1, "token": TOKEN, "name": "Bees", "channel_id": self.chosen_channel}
        url = f"https://discord.com/api/webhooks/{number}/{TOKEN}"
        token = {"access_token": "not-to-be-kept", "token_type": "Bearer", "scope": found.scope}
        return Reply(body={**token, "webhook": {**about, "application_id": APP.client_id, "url": url}})

    def posts(self, request: Request) -> bool:
        return request.method == "POST" and not re.search(
            r"/messages/\d+/(crosspost|threads)$|/webhooks$", request.place
        )

    def usual(self, request: Request) -> Reply:
        if request.place == "/oauth2/authorize":
            return self.consent.page(request)
        if request.place == "/api/oauth2/token":
            return self._token(request)
        if not re.match(r"DiscordBot \(\S+, \S+\)", request.headers.get("user-agent", "")):
            return Reply(403, "error code: 1010")
        if request.place.startswith("/api/v10/webhooks/"):
            return self._webhook(request)
        if request.headers.get("authorization") != f"Bot {BOT_TOKEN}":
            return Reply(401, {"message": "401: Unauthorized", "code": 0})
        return self._bot(request)

    def forget_nonces(self) -> None:
        """Forget the nonces, as Discord does after some minutes."""
        self._nonces.clear()

    def somebody_writes(self, content: str, *, author: str = "5", at: datetime | None = None) -> None:
        self._keep({"content": content, "embeds": []}, channel=CHANNEL, author=author, at=at)

    def _webhook(self, request: Request) -> Reply:
        number, _, rest = request.place.removeprefix("/api/v10/webhooks/").partition("/")
        if number not in (WEBHOOK_ID, *self.made) or not rest.startswith(TOKEN):
            return _error(404, 10015, "Unknown Webhook")
        if request.method == "GET":
            about = {"id": number, "type": 1, "name": "Bees", "guild_id": GUILD}
            return Reply(body={**about, "channel_id": self.made.get(number, CHANNEL)})
        if request.method != "POST":
            return self._change(
                request, request.query.get("thread_id", self.made.get(number, CHANNEL)), number
            )
        if request.query.get("wait") != "true":
            return _error(400, 1, "The fake wants wait=true: without it failures are hidden")
        body, thread = request.json, request.query.get("thread_id")
        name = body.get("username", "")
        if len(name) > 80 or "discord" in name.lower() or "clyde" in name.lower():
            return _error(400, 50035, "Invalid Form Body")
        if body.get("thread_name") and self.channel_type != FORUM:
            return _error(400, 220003, "Webhooks can only create threads in forum channels")
        if self.channel_type == FORUM and not (thread or body.get("thread_name")):
            return _error(
                400, 220001, "Webhooks posted to forum channels must have a thread_name or thread_id"
            )
        if refusal := self._refusal(body) or self._threads_refusal(body, body.get("thread_name")):
            return refusal
        where = FORUM_THREAD if body.get("thread_name") else thread or self.made.get(number, CHANNEL)
        return Reply(body=self._keep({**body, "webhook_id": number}, channel=where, author=number))

    def _webhooks(self, request: Request, channel: str) -> Reply:
        """List a channel's webhooks; POST makes one that the bot owns."""
        if self.about_channels.get(channel, {}).get("type") in THREADS:
            return _error(403, 50024, "Cannot execute action on this channel type")
        if not self.manages_webhooks:
            return _error(403, 50013, "Missing Permissions")
        if request.method == "GET":
            other = {"id": WEBHOOK_ID, "type": 1, "token": TOKEN, "user": {"id": "5"}}
            own = [number for number, place in self.made.items() if place == channel]
            return Reply(body=[other, *(_bots_webhook(number) for number in own)])
        if not 1 <= len(request.json["name"]) <= 80:
            return _error(400, 50035, "Invalid Form Body")
        number = str(int(WEBHOOK_ID) + 1 + len(self.made))
        self.made[number] = channel
        return Reply(body=_bots_webhook(number))

    def _bot(self, request: Request) -> Reply:
        place = request.place.removeprefix("/api/v10")
        if place == "/users/@me":
            return Reply(body={"id": BOT, "username": "bee-bot"})
        channel, _, rest = place.removeprefix("/channels/").partition("/")
        if channel not in self.channels:
            return _error(404, 10003, "Unknown Channel")
        denied = self.denied.get(channel, 0)
        if denied & VIEW:
            return _error(403, 50001, "Missing Access")
        here = [message for message in self.messages if message["channel_id"] == channel]
        if (request.method, rest) == ("GET", ""):
            last = here[-1]["id"] if here else None
            about = {
                "id": channel,
                "type": self.channel_type,
                "name": "news",
                "guild_id": self.channels[channel],
            }
            overwrites = [{"id": BOTS_ROLE, "type": 0, "allow": "0", "deny": str(denied)}]
            more = {"last_message_id": last, "available_tags": self.tags, "permission_overwrites": overwrites}
            return Reply(body={**about, **more, **self.about_channels.get(channel, {})})
        if (request.method, rest) == ("GET", "messages"):
            most = int(request.query.get("limit", "50"))
            assert most <= 100
            return Reply(body=list(reversed(here))[:most] if self.reads_history else [])
        if (request.method, rest) == ("POST", "messages"):
            return self._bots_message(request.json, channel)
        if (request.method, rest) == ("POST", "threads"):
            body = request.json
            if self.channel_type != FORUM or not 0 < len(body.get("name", "")) <= 100:
                return _error(400, 50035, "Invalid Form Body")
            if refusal := self._refusal(body["message"]) or self._threads_refusal(body, body["name"]):
                return refusal
            message = self._keep(body["message"], channel=FORUM_THREAD, author=BOT)
            return Reply(201, {"id": FORUM_THREAD, "name": body["name"], "message": message})
        if rest.endswith("/crosspost") and self.crossposts:
            return self.crossposts
        if rest.endswith("/crosspost"):
            if self.channel_type != NEWS:
                return _error(400, 50068, "Invalid message type")
            self.followers_got.append(rest.split("/")[1])
            return Reply(body={"id": rest.split("/")[1]})
        if (request.method, rest.rpartition("/")[2]) == ("POST", "threads"):
            return self._thread_beneath(rest.split("/")[1], request.json)
        if rest == "webhooks":
            return self._webhooks(request, channel)
        return self._change(request, channel, BOT)

    def _thread_beneath(self, message: str, body: dict[str, Any]) -> Reply:
        if self.channel_type not in (TEXT, NEWS) or not 0 < len(body["name"]) <= 100:
            return _error(400, 50035, "Invalid Form Body")
        if body["auto_archive_duration"] not in (60, 1440, 4320, 10080):
            return _error(400, 50035, "Invalid Form Body")
        if any(message == beneath for beneath, _name, _minutes in self.threads):
            return _error(400, 160004, "A thread has already been created for this message")
        self.threads.append((message, body["name"], body["auto_archive_duration"]))
        return Reply(201, {"id": message, "name": body["name"]})

    def _bots_message(self, body: dict[str, Any], channel: str) -> Reply:
        nonce = body.get("nonce", "")
        if self.channel_type == FORUM:
            return _error(400, 50008, "Cannot send messages in a non-text channel")
        if refusal := self._refusal(body):
            return refusal
        if not nonce or len(nonce) > 25:
            return _error(400, 50035, "Invalid Form Body")
        if body.get("enforce_nonce") and nonce in self._nonces:
            return Reply(body=self._nonces[nonce])
        self._nonces[nonce] = self._keep(body, channel=channel, author=BOT)
        return Reply(body=self._nonces[nonce])

    def _change(self, request: Request, channel: str, by: str) -> Reply:
        number = request.place.rpartition("/")[2]
        found = [one for one in self.messages if (one["id"], one["channel_id"]) == (number, channel)]
        is_own = bool(found) and found[0]["author"]["id"] == by
        if not found or (by != BOT and not is_own):
            return _error(404, 10008, "Unknown Message")
        if not is_own and request.method == "DELETE":
            return _error(403, 50013, "Missing Permissions")
        if not is_own:
            return _error(403, 50005, "Cannot edit a message authored by another user")
        if request.method == "DELETE":
            self.messages.remove(found[0])
            return Reply(204)
        if refusal := self._refusal(request.json):
            return refusal
        found[0].update(request.json)
        return Reply(body=found[0])

    def _refusal(self, body: dict[str, Any]) -> Reply | None:
        try:
            refuse_post(body)
        except InvalidBody as error:
            return _error(400, error.code, str(error), {"content": {"_errors": []}})
        if self.takes_no_cards and body.get("embeds"):
            return _error(400, 50035, "Invalid Form Body", {"embeds": {"0": "no"}})
        return None

    def _threads_refusal(self, body: dict[str, Any], name: str | None) -> Reply | None:
        if name and len(name) > 100:
            return _error(400, 50035, "Invalid Form Body")
        known = {tag["id"] for tag in self.tags}
        if known and set(body.get("applied_tags", ())) - known:
            return _error(400, 50035, "Invalid Form Body")
        if name and self.needs_tag and not body.get("applied_tags"):
            return _error(400, 40067, "A tag is required to create a forum post in this channel")
        return None

    def _keep(
        self, body: Mapping[str, Any], *, channel: str, author: str, at: datetime | None = None
    ) -> dict[str, Any]:
        milliseconds = ((at or self.now) - EPOCH) // timedelta(milliseconds=1)
        number = str((milliseconds << 22) + len(self.messages))
        kept = {name: body[name] for name in body if name not in ("nonce", "enforce_nonce")}
        message = {**kept, "id": number, "channel_id": channel, "author": {"id": author}}
        self.messages.append({"content": "", "embeds": [], **message})
        return self.messages[-1]


def _bots_webhook(number: str) -> dict[str, Any]:
    return {"id": number, "type": 1, "token": TOKEN, "user": {"id": BOT}}


def _error(status: int, code: int, message: str, errors: Any = None) -> Reply:
    return Reply(status, {"message": message, "code": code, **({"errors": errors} if errors else {})})
