"""https://zulip.com/api/send-message and https://zulip.com/api/construct-narrow"""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from urllib3.util import make_headers

from channels import fields
from channels.announcement import Announcement
from channels.base import NO_POST, CrashPolicy, LaneDefaults, Looks, Outcome, Sent
from channels.bridge import Bridge
from channels.http.client import ApiClient, Failed, Target, an_id, first_accepted, told_at_fields
from channels.http.outcomes import ApiService, Verdict
from channels.http.session import DeletingSession, EditingSession
from channels.http.transport import ApiResponse
from channels.wording import listing_parts
from common.ports.channels import ParsedDestination
from common.truncation import FittingPart, cut_to

MESSAGES = "/api/v1/messages"
# The server cuts longer ones.
LONGEST_MESSAGE, LONGEST_NAME = 10_000, 60
CLOCKS_DIFFER = timedelta(minutes=10)
# There are no escapes, but character references. A dot makes a link of words, an indent makes code.
MARKUP = re.compile(r"[!#$&*+./:<>@[\]_`~-]|(?<=[\r\n])[ \t]|[\x00\ud800-\udfff]")
# They end a link, or make mentions and references within it.
MARKUP_IN_LINKS = re.compile(r"[$'()*;[\]]")
bot_email = fields.matching(r"[!-9;-?A-~]+@[!-9;-?A-~]+", "a bot’s address is like news-bot@chat.example.")


def markdown(parts: Sequence[FittingPart]) -> str:
    def written(part: FittingPart) -> str:
        text = MARKUP.sub(lambda sign: f"&#{ord(sign[0])};", part.text)
        link = MARKUP_IN_LINKS.sub(lambda sign: f"%{ord(sign[0]):X}", part.link)
        return f"[{link if part.text == part.link else text}]({link})" if link else text

    return "".join(map(written, parts)).strip()


class ZulipBridge(EditingSession, DeletingSession, Bridge):
    key = "zulip"
    label = "Zulip"
    sentence = "Posts to a channel of your Zulip organization, each newsletter under its topic."
    crash_policy = CrashPolicy.LOOK_UP
    # Limit: 200 requests a minute.
    lane = LaneDefaults(spacing_seconds=1.0)
    name_field, token_field = "stream", "api_key"
    destination_fields = (
        fields.server("server_url", "Server", example="chat.example"),
        fields.needed("account", "Bot", "Its email address, shown next to the API key.", bot_email),
        fields.secret("api_key", "API key", "In Zulip: Personal settings, Bots, Add a new bot, Generic bot."),
        fields.needed("stream", "Channel", "Its name, such as news.", fields.words_of_at_most(LONGEST_NAME)),
    )
    own_options = (fields.line("topic", "Topic", "Default: the newsletter’s title.", most=LONGEST_NAME),)
    service = ApiService(
        name="a Zulip server",
        words=lambda answer: answer.text_at("msg"),
        code=lambda answer: answer.text_at("code"),
        verdicts={"STREAM_DOES_NOT_EXIST": Verdict.DESTINATION},
        advice="Save the API key of an active bot, and a channel where it can post.",
    )

    def body(self, post: Announcement, options: Mapping[str, str]) -> dict[str, Any]:
        parts = listing_parts(
            post,
            options.get("template", ""),
            lambda parts: len(markdown(parts)) <= LONGEST_MESSAGE,
            titles=(20, 5, 0),
        )
        topic = options.get("topic") or cut_to(post.newsletter_title, LONGEST_NAME)
        return {"topic": topic, "content": markdown(parts), "shown": "".join(part.text for part in parts)}

    def looks(self, body: dict[str, Any]) -> Looks:
        return Looks(body["shown"], len(body["content"]), LONGEST_MESSAGE, title=body["topic"])

    def headers(self, to: Target) -> Mapping[str, str]:
        return make_headers(basic_auth=f"{to.config['account']}:{to.secrets['api_key']}")

    def find(self, api: ApiClient, body: dict[str, Any], begun_at: datetime) -> Sent | None:
        """Only with the channel's name, Zulip looks in channels that the bot doesn't subscribe to."""
        narrow = {"sender": api.config["account"], "stream": api.config["stream"], "topic": body["topic"]}
        terms = json.dumps([{"operator": name, "operand": value} for name, value in narrow.items()])
        # "We recommend requesting at most 1000 messages in a batch".
        query = {"anchor": "newest", "num_before": 1_000, "num_after": 0, "apply_markdown": "false"}
        earliest = (begun_at - CLOCKS_DIFFER).timestamp()

        def read(answer: ApiResponse) -> Sent | None:
            for message in answer.json["messages"]:
                if message["content"] == body["content"] and message["timestamp"] >= earliest:
                    return _sent(api, message["id"])
            return None

        return api.call("GET", MESSAGES, read=read, params={**query, "narrow": terms})

    def post(self, api: ApiClient, body: dict[str, Any]) -> Sent:
        # A name of digits would be an id, unless it is JSON.
        place = {"type": "stream", "to": json.dumps(api.config["stream"]), "topic": body["topic"]}
        data = {**place, "content": body["content"]}
        return api.call("POST", MESSAGES, read=lambda it: _sent(api, it.at("id")), posting=True, data=data)

    def change(self, api: ApiClient, body: dict[str, Any], remote_id: str, parts: Sequence[str]) -> Outcome:
        place = _existing(api, remote_id)
        return api.call(
            "PATCH", place, read=lambda _: _sent(api, remote_id), data={"content": body["content"]}
        )

    def remove(self, api: ApiClient, remote_id: str, parts: Sequence[str]) -> Sent:
        """Bots that may not delete it empty it: Zulip then shows "(deleted)"."""
        place, empty = _existing(api, remote_id), {"content": ""}
        first_accepted(("DELETE", "PATCH"), lambda method: api.call(method, place, read=_done, data=empty))
        return Sent(remote_id)

    def checked(self, api: ApiClient, destination: ParsedDestination) -> ParsedDestination:
        api.call("GET", "/api/v1/users/me", read=_done)
        with told_at_fields("stream"):
            api.call("GET", "/api/v1/get_stream_id", read=_done, params={"stream": api.config["stream"]})
        return destination


def _sent(api: ApiClient, number: Any) -> Sent:
    return Sent(an_id(number), url=f"{api.url}/#narrow/id/{number}")


def _done(answer: ApiResponse) -> str:
    return an_id(answer.at("result"))


def _existing(api: ApiClient, number: str) -> str:
    """Return the path. Edits are refused without a code, in the bot's language, whatever the reason."""
    path = f"{MESSAGES}/{number}"
    try:
        api.call("GET", path, read=_done)
    except Failed as failed:
        is_gone = api.answer.text_at("code") == "BAD_REQUEST"
        raise Failed(NO_POST if is_gone else failed.outcome) from None
    return path
