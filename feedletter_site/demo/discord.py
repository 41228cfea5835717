"""As much of Discord as a webhook is asked for: it keeps what is posted in the demo's timeline."""

import json

from feedletter_site.demo.answer import NOT_FOUND, ApiAnswer, ApiRequest
from feedletter_site.demo.timeline import Timeline, TimelinePost

DISCORD = "discord"
API = "/api/v10"
CHANNEL = "1000000000000000002"
WEBHOOK = "1000000000000000001/the-demo-s-own-webhook-token"
# As people copy it there. DISCORD_API_URL leads to the demo's own Discord.
WEBHOOK_URL = f"https://discord.com/api/webhooks/{WEBHOOK}"
UNKNOWN_WEBHOOK = ApiAnswer({"message": "Unknown Webhook", "code": 10015}, 404)
UNKNOWN_MESSAGE = ApiAnswer({"message": "Unknown Message", "code": 10008}, 404)


def discord_answer(timeline: Timeline, request: ApiRequest) -> ApiAnswer:
    """What stands at a path below /api/v10."""
    where = f"{API}/webhooks/{WEBHOOK}"
    if not request.path.startswith(where):
        return UNKNOWN_WEBHOOK
    match request.method, request.path.removeprefix(where).strip("/").split("/"):
        case "GET", [""]:
            id_, _, _ = WEBHOOK.partition("/")
            # It is on no server: whatever names one has a page at discord.com.
            return ApiAnswer({"id": id_, "type": 1, "name": "Harbour Notes", "channel_id": CHANNEL})
        case "POST", [""]:
            return ApiAnswer(_message(timeline.add(DISCORD, json.loads(request.body))))
        case method, ["messages", number]:
            found = timeline.find(DISCORD, number)
            if found is None:
                return UNKNOWN_MESSAGE
            if method == "DELETE":
                timeline.change(found, None)
                return ApiAnswer(None, 204)
            if method == "PATCH":
                found = timeline.change(found, {**(found.body or {}), **json.loads(request.body)})
            return ApiAnswer(_message(found))
    return NOT_FOUND


def _message(post: TimelinePost) -> dict[str, object]:
    return {**(post.body or {}), "id": post.number, "channel_id": CHANNEL}
