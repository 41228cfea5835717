"""Which of Apprise's services may be used, and what their addresses say. Pure.

Those that have a channel of their own, that work on this machine, or that are no HTTP services are not among
them.
"""

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

from channels.http.address import LONGEST_URL
from common.text import words

# Their servers are the user's own, so that they may be at private addresses.
OWN_SERVERS = words(
    "bark barks gotify gotifys humhub humhubs ncloud nclouds nctalk nctalks signal signals smseagle smseagles"
    " synology synologys workflow workflows zulip"
)
FIXED_SERVERS = words(
    "46elks bulksms burstsms clickatell clicksend d7sms dingtalk feishu flock gchat groupme guilded join"
    " kavenegar lark line msgbird nexmo onesignal opsgenie pbul plivo pover prowl pushed pushy"
    " revolt ryver seven sinch spugpush threema voipms vonage webex wecombot wxteams"
)
# What is ours to say.
RESERVED = words(
    "attach body cto emojis format host overflow proxy redirect redirects retry rto store title tz url verify"
    " wait"
)


@dataclass(frozen=True, slots=True)
class ServiceAddress:
    """`host` is empty where the service has one address for all."""

    schema: str
    host: str = ""


def service_address(url: str) -> ServiceAddress:
    """What an Apprise URL says of its server. Raises ValueError with a sentence that does not repeat it."""
    schema, _, rest = url.partition("://")
    schema = schema.lower()
    if not rest or len(url) > LONGEST_URL or not re.fullmatch("[!-~]+", url):
        raise ValueError("it is no Apprise URL, such as gotifys://host/token.")
    if schema not in OWN_SERVERS | FIXED_SERVERS:
        allowed = ", ".join(sorted(OWN_SERVERS | FIXED_SERVERS))
        raise ValueError(f"this service cannot be used here. There are: {allowed}.")
    try:
        parts = urlsplit(f"//{rest}")
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise ValueError("its host cannot be read.") from None
    if taken := RESERVED & {name.lstrip("+-:").lower() for name, _ in parse_qsl(parts.query, True)}:
        raise ValueError(f"leave out {', '.join(sorted(taken))}: that is not the URL's to say.")
    if schema in FIXED_SERVERS:
        return ServiceAddress(schema)
    if not host:
        raise ValueError("it has no host.")
    return ServiceAddress(schema, host)


def secrets_of(url: str) -> list[str]:
    """What no outcome may show of a URL: the whole, and all in it but short words and the server's name."""
    host = service_address(url).host
    return [url, *(part for part in re.split("[/?&=:@]", url) if len(part) >= 8 and part.lower() != host)]
