import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

from django.template import Context, Engine

from chat.rules.permissions import INVITED, MANAGE_GUILD
from demo.answer import ApiRequest, PageAnswer
from demo.discord import payloads, typed
from demo.discord.api import DiscordApi
from demo.discord.interactions import Exchange, NoAnswer
from demo.discord.limits import AUTOCOMPLETE, COMMAND, COMPONENT, MENUS, MODAL
from demo.discord.messages import JOINED, shown_messages
from demo.discord.places import ADA, ADA_NAME, BOT_NAME, CHANNELS, DISCORD, GUILD, GUILD_NAME

DISCORD_POLICY = (
    "default-src 'none'; img-src 'self' data: https: http://127.0.0.1:*; style-src 'self'; "
    "script-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
ASSETS = Path(__file__).parent / "assets"
TYPES = {"channel.css": "text/css; charset=utf-8", "channel.js": "text/javascript; charset=utf-8"}
PAGE_TEMPLATES = Engine(dirs=[str(ASSETS)])
FIRST_CHANNEL = "news"
MEMBER = payloads.Member(ADA, ADA_NAME, permissions=str(MANAGE_GUILD))
Edit = Callable[[dict[str, Any]], object]


class DiscordPages:
    """`bridge`, `bot` and `blog` are linked addresses."""

    def __init__(self, api: DiscordApi, *, bridge: str = "", bot: str = "", blog: str = "") -> None:
        self.api, self.bridge, self.bot, self.blog = api, bridge, bot, blog
        self.portal, self.interactions = api.portal, api.interactions

    def answer(self, request: ApiRequest) -> PageAnswer | None:
        if request.method == "POST" and request.is_foreign:
            return PageAnswer(b"", status=403)
        match request.path.strip("/").split("/"):
            case ["oauth2", "authorize"]:
                return self._invitation(request)
            case ["channels", _, channel, *message] if channel in CHANNELS:
                return _leads_to(f"{path_of(channel)}#{''.join(message)}")
            case ["discord", "assets", name] if name in TYPES:
                return PageAnswer((ASSETS / name).read_bytes(), TYPES[name])
            case ["discord"]:
                return self._channel(request, next(iter(CHANNELS)))
            case ["discord", name, *more] if channel := _channel_called(name):
                if more == ["suggestions"]:
                    return self._suggestions(channel, request.query.get("line", ""))
                return None if more else self._channel(request, channel)
        return None

    def _channel(self, request: ApiRequest, channel: str) -> PageAnswer:
        if request.method != "POST":
            form = self.interactions.exchanges.get(request.query.get("form", ""))
            return self._shown(channel, line=request.query.get("line", ""), asking=form)
        pairs = parse_qsl(request.body.decode(errors="replace"), keep_blank_values=True)
        fields, values = dict(pairs), [value for name, value in pairs if name == "value" and value]
        try:
            exchange = self._done(channel, fields, values)
        except typed.BadLine as error:
            return self._shown(channel, line=fields.get("line", ""), wrong=str(error))
        except NoAnswer:
            return _leads_to(path_of(channel))
        asks = {"form": exchange.token} if exchange and exchange.form else {}
        return _leads_to(f"{path_of(channel)}{'?' if asks else ''}{urlencode(asks)}")

    def _done(self, channel: str, fields: Mapping[str, str], values: list[str]) -> Exchange | None:
        """Raises BadLine and NoAnswer."""
        if dismissed := fields.get("dismiss"):
            self.interactions.exchanges.pop(dismissed, None)
            return None
        if token := fields.get("form"):
            asked = self.interactions.exchanges.get(token)
            if asked is None or asked.form is None:
                raise typed.BadLine("That form is not open any more.")
            return self._sent(MODAL, payloads.form_data(asked.form, fields), channel, asked.edit)
        if custom_id := fields.get("press"):
            message, edit = self._message(fields.get("on", ""))
            part = next((one for one in payloads.parts_of(message) if one["custom_id"] == custom_id), None)
            if part is None:
                raise typed.BadLine("That button is not there any more.")
            if part["type"] in MENUS:
                data = payloads.menu_data(custom_id, *values, kind=part["type"])
                return self._sent(COMPONENT, data, channel, edit)
            return self._sent(COMPONENT, payloads.button_data(custom_id), channel, edit)
        line = typed.read_line(fields.get("line", ""), self._commands(), CHANNELS)
        return self._sent(COMMAND, self._command(line, channel), channel)

    def _command(self, line: typed.Typed, channel: str, *, focused: str = "") -> dict[str, Any]:
        return payloads.command_data(
            self._commands(), line.words, line.options, place=_place(channel), focused=focused
        )

    def _sent(self, kind: int, data: dict[str, Any], channel: str, edit: Edit | None = None) -> Exchange:
        payload = payloads.payload(
            kind, data, member=MEMBER, place=_place(channel), is_on_message=edit is not None
        )
        return self.interactions.send(payload, edit=edit)

    def _commands(self) -> Sequence[Mapping[str, Any]]:
        """Empty before the bot joined."""
        return self.portal.commands if GUILD in self.portal.known.guilds else ()

    def _message(self, name: str) -> tuple[dict[str, Any], Edit | None]:
        if exchange := self.interactions.exchanges.get(name):
            return exchange.message or {}, lambda body: setattr(exchange, "message", body)
        post = self.api.timeline.find(DISCORD, name)
        if post is None:
            return {}, None
        return post.body or {}, lambda body: self.api.timeline.change(post, {**(post.body or {}), **body})

    def _suggestions(self, channel: str, line: str) -> PageAnswer:
        commands = self._commands()
        found = typed.suggestions(line, commands, CHANNELS)
        if asking := typed.asks_application(line, commands):
            data = self._command(asking, channel, focused=asking.focused)
            try:
                told = self._sent(AUTOCOMPLETE, data, channel).answer["data"]["choices"]
            except NoAnswer:
                told = []
            found = [
                typed.Suggestion(one["name"], "", f"{typed.with_value(line, asking, one['value'])} ")
                for one in told
            ]
        said = [{"label": one.label, "about": one.about, "line": one.line} for one in found]
        return PageAnswer(json.dumps(said).encode(), "application/json; charset=utf-8")

    def _invitation(self, request: ApiRequest) -> PageAnswer:
        if request.query.get("client_id") != self.interactions.application.id:
            return _page("invitation.html", "There is no such application", status=404)
        first = _channel_called(FIRST_CHANNEL)
        if request.method == "POST" and GUILD not in self.portal.known.guilds:
            self.portal.install(GUILD, GUILD_NAME)
            author = {"id": self.interactions.application.id}
            self.api.timeline.add(DISCORD, {"type": JOINED, "channel_id": first, "author": author})
        if request.method == "POST":
            return _leads_to(path_of(first))
        title = f"Add {BOT_NAME} to a server"
        return _page("invitation.html", title, name=BOT_NAME, server=GUILD_NAME)

    def _shown(
        self, channel: str, *, line: str = "", wrong: str = "", asking: Exchange | None = None
    ) -> PageAnswer:
        exchanges = list(self.interactions.exchanges.values())
        messages = shown_messages(
            self.api.messages(channel),
            [one for one in exchanges if one.payload["channel_id"] == channel],
            now=self.interactions.clock(),
            bot=self.interactions.application.id,
        )
        links = [
            (self.bot, "Bot in the admin"),
            (self.bridge, "Bridge in the admin"),
            ("/mastodon/", "Mastodon"),
            ("/fediverse/", "Fediverse"),
        ]
        example = f"/feed add url:{self.blog or 'blog.example'} start:1"
        form = asking.form if asking else None
        return _page(
            "channel.html",
            f"#{CHANNELS[channel]} on Discord",
            status=400 if wrong else 200,
            server=GUILD_NAME,
            bot=BOT_NAME,
            channel=CHANNELS[channel],
            channels=[(path_of(each), name) for each, name in CHANNELS.items()],
            here=path_of(channel),
            links=[(url, words) for url, words in links if url],
            messages=messages,
            is_waited_for=any(message.is_waited_for for message in messages),
            commands=typed.suggestions("/", self._commands(), CHANNELS),
            invitation=f"/oauth2/authorize?{urlencode({'client_id': self.interactions.application.id})}",
            example=example,
            example_path=f"{path_of(channel)}?{urlencode({'line': example})}",
            form=form,
            form_token=asking.token if asking else "",
            fields=[row["components"][0] for row in form["components"]] if form else [],
            line=line,
            wrong=wrong,
        )


def path_of(channel: str) -> str:
    return f"/discord/{CHANNELS[channel]}/"


def _channel_called(name: str) -> str:
    return next((channel for channel, called in CHANNELS.items() if called == name), "")


def _place(channel: str) -> payloads.Place:
    return payloads.Place(GUILD, channel, str(INVITED))


def _page(template: str, title: str, *, status: int = 200, **said: Any) -> PageAnswer:
    # This process has no apps, and so no formats.
    context = Context({"title": title, **said}, use_l10n=False)
    html = PAGE_TEMPLATES.get_template(template).render(context)
    return PageAnswer(html.encode(), status=status)


def _leads_to(path: str) -> PageAnswer:
    return PageAnswer(b"", status=303, location=path)
