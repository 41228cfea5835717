import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from django.conf import settings

from channels.base import Sent
from channels.http.client import UnreadableAnswer
from channels.http.outcomes import ApiService, Verdict
from channels.http.transport import ApiResponse
from channels.rules.breakers import Breaker
from common.truncation import plain_line

UNKNOWN_MESSAGE, ALREADY_CROSSPOSTED, HAS_A_THREAD = 10008, 40033, 160004
# Another author's message: not editable, and deletable only with a permission.
OF_ANOTHER = (50005, 50013)
# Webhook missing; bot may not manage webhooks; maximum reached.
UNKNOWN_WEBHOOK, NO_WEBHOOKS = 10015, (50013, 30007)
# A forum accepts no message outside a thread.
NEEDS_THREAD = 220001
# Types of channels in which each post begins a thread.
FORUMS = ("15", "16")
NONCE_LENGTH = 25
# https://discord.com/developers/docs/topics/opcodes-and-status-codes#json
_VERDICTS: Mapping[Any, Verdict] = {
    # The channel, its server or the webhook is gone.
    **dict.fromkeys((10003, 10004, 10015, 50027), Verdict.DESTINATION),
    # Missing access or permissions, verification level too high, connection revoked, thread archived or
    # locked, too many active threads: all reversible by people of the server.
    **dict.fromkeys((50001, 50013, 50009, 40012, 50083, 160005, 160006), Verdict.FORBIDDEN),
    UNKNOWN_MESSAGE: Verdict.GONE,
    # The last three: messages of another author or of Discord.
    **dict.fromkeys((ALREADY_CROSSPOSTED, HAS_A_THREAD, 50035, 50005, 50021, 50006), Verdict.MESSAGE),
    **dict.fromkeys((40005, 200000, 200001, 240000, 40067, 40058, NEEDS_THREAD), Verdict.MESSAGE),
    **dict.fromkeys((20016, 20028, 20029, 40062, 40004), Verdict.STOPS),
    **dict.fromkeys((30046, 40006, 40333), Verdict.TRY_AGAIN),
}
# https://discord.com/developers/docs/topics/rate-limits#invalid-request-limit-aka-cloudflare-bans
BREAKER = Breaker(
    service="discord",
    name="Discord",
    refusals=2_000,
    within=timedelta(minutes=10),
    why="At 10,000 it blocks this server’s address.",
)


def code_of(answer: ApiResponse) -> Any:
    """Return Discord's code, else the status; "everywhere" for a limit on the whole bot.

    A 429 of Discord's proxy has no scope and no Via: it blocks our address.
    """
    scope = answer.headers.get("X-RateLimit-Scope", "user" if "Via" in answer.headers else "global")
    if answer.status == 429 and scope == "global":
        return "everywhere"
    code = answer.at("code")
    return code if isinstance(code, int) and code else answer.status


def _words(answer: ApiResponse) -> str:
    """For 50035, include what is invalid."""
    said = answer.at("message")
    return ": ".join(filter(None, [said if isinstance(said, str) else "", *_messages(answer.at("errors"))]))


def _messages(errors: Any) -> Iterator[str]:
    """They are in lists, below the names of the invalid parts."""
    for each in errors.values() if isinstance(errors, dict) else errors if isinstance(errors, list) else ():
        message = each.get("message") if isinstance(each, dict) else None
        yield from [message] if isinstance(message, str) else _messages(each)


_COMMON = ApiService(
    name="Discord",
    breaker=BREAKER,
    # Only what is gone is disabled.
    unknown_refusal=Verdict.STOPS,
    words=_words,
    code=code_of,
    waits=lambda answer: answer.at("retry_after"),
)
WEBHOOK = replace(
    _COMMON,
    # Repeated calls of a missing webhook get us blocked.
    verdicts={**_VERDICTS, 404: Verdict.DESTINATION},
    advice="Create a new webhook in the channel’s settings under Integrations, and save its address.",
)
BOT = replace(
    _COMMON,
    verdicts={**_VERDICTS, **dict.fromkeys((401, 50014, 40001, "everywhere"), Verdict.SHARED)},
    advice="Its operator must check the bot’s token.",
    gone="It no longer exists.",
)


def agent() -> dict[str, str]:
    """Return the User-Agent in Discord's format."""
    return {"User-Agent": f"DiscordBot ({settings.SITE_URL}, {settings.VERSION})"}


def nonce_of(key: str) -> str:
    """Hash the key, which is too long, to 25 letters and digits."""
    number, letters = int.from_bytes(hashlib.sha256(key.encode()).digest(), "big"), ""
    while len(letters) < NONCE_LENGTH:
        number, digit = divmod(number, 36)
        letters += "0123456789abcdefghijklmnopqrstuvwxyz"[digit]
    return letters


def name_of(answer: ApiResponse, field: str = "name") -> str:
    return plain_line(answer.text_at(field))[:100]


def snowflake(said: Any) -> str:
    if not isinstance(said, str) or not said.isascii() or not said.isdecimal() or len(said) > 20:
        raise UnreadableAnswer("Discord returned no ID.")
    return said


def sent(guild: str, channel: str, message: str) -> Sent:
    """The id includes the channel: each forum post has its own thread."""
    url = f"{settings.DISCORD_URL}/channels/{guild}/{channel}/{message}" if guild else ""
    return Sent(remote_id=f"{channel}/{message}", url=url)
