"""https://www.twilio.com/docs/messaging/api/message-resource"""

import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, TypeVar
from urllib.parse import urlsplit

from django.conf import settings

from channels import fields
from channels.base import CrashPolicy, LaneDefaults, LaneFacts, Message, Sent
from channels.bridge import TEMPLATE, Service, account_field
from channels.http.client import ApiClient, Target, UnreadableAnswer
from channels.http.session import NO_LANE
from channels.http.transport import ApiResponse
from channels.letter import Recipient
from channels.sms.message import TWILIO, TWILIO_API, TextMessage, sms_of
from common.formats.written_dates import mail_date
from common.ports.channels import Field, InvalidDestination, ParsedDestination, read_fields

T = TypeVar("T")
ACTIVE = "active"
MESSAGE_SID = re.compile(r"[SM]M[0-9a-f]{32}", re.ASCII)
# Possible difference of the clocks.
CLOCKS_APART = timedelta(minutes=2)
LOOKED_THROUGH = 50
# More could exceed Twilio's 1,600 characters.
MOST_PARTS = 10


account_sid = fields.matching(
    r"AC[0-9a-f]{32}", "it must be AC followed by 32 digits and characters from a to f."
)


def sender_name(typed: str) -> str:
    if re.fullmatch(r"MG[0-9a-f]{32}", typed, re.ASCII):
        return typed
    number = re.sub(r"[\s().-]", "", typed)
    if re.fullmatch(r"\+[1-9]\d{6,14}", number, re.ASCII):
        return number
    if re.fullmatch(r"(?=.*[A-Za-z])[A-Za-z0-9 ]{1,11}", typed, re.ASCII):
        return typed
    raise ValueError(
        "enter the SID of a messaging service (MG…), a number such as +1 202 555 0123, or a name "
        "of up to eleven letters and digits."
    )


def country(typed: str) -> str:
    from channels.sms.number import REGIONS

    code = typed.upper()
    if code not in REGIONS:
        raise ValueError(f"“{typed[:20]}” isn’t a two-character country code, such as DE.")
    return code


def country_list(typed: str) -> str:
    from channels.sms.number import ANY_COUNTRY

    if typed.strip() == ANY_COUNTRY:
        return ANY_COUNTRY
    return " ".join(dict.fromkeys(country(one) for one in re.split(r"[\s,]+", typed) if one))


def part_count(typed: str) -> str:
    if not re.fullmatch(r"\d{1,2}", typed, re.ASCII) or not 1 <= int(typed) <= MOST_PARTS:
        raise ValueError(f"enter a number from 1 to {MOST_PARTS}.")
    return str(int(typed))


class SmsChannel(Service):
    """Newsletters choose the Twilio account. Lanes are accounts themselves.

    People may sign up themselves with a code, which is the check.
    """

    key = "sms"
    label = "SMS"
    sentence = "A text message through Twilio to each subscriber with a phone number."
    public_sign_up = True
    is_by_code = True
    # No key, but messages can be listed.
    crash_policy = CrashPolicy.LOOK_UP
    # Twilio queues what exceeds a number's rate; the caps limit the cost of a mistake.
    lane = LaneDefaults(serial=False, concurrency=5, rate=10.0, per_day=1_000, per_recipient=10)
    destination_fields: tuple[Field, ...] = (
        Field("phone", "Phone number", "Such as +49 1512 3456789.", required=True),
    )
    account_fields: tuple[Field, ...] = (
        fields.needed(
            "account_sid", "Account SID", "Shown on the first page of Twilio’s console.", account_sid
        ),
        fields.secret(
            "auth_token",
            "Auth token",
            "Shown next to the SID. It also verifies that incoming requests are from Twilio.",
        ),
        fields.needed(
            "sender",
            "Sender",
            "The SID of a messaging service (MG…), or one of your numbers. If you use a name instead, "
            "recipients can’t answer STOP.",
            sender_name,
        ),
    )
    option_fields: tuple[Field, ...] = (
        account_field(
            "sms", "Twilio account", "The account whose number or messaging service sends the messages."
        ),
        Field(
            "parts",
            "Parts of a message",
            f"From 1 to {MOST_PARTS}. Leave empty for 1, which has room for 160 characters. Each part costs"
            " as much as a message.",
            clean=part_count,
        ),
        Field("region", "Country", "Used for numbers without a country code, for example DE.", clean=country),
        Field(
            "countries",
            "Countries that may sign up",
            "Codes such as DE AT CH, or * for all. Leave empty for the country above, or for all if "
            "there is none. Limiting countries limits your costs.",
            clean=country_list,
        ),
        fields.choice(
            "letters",
            "Letters",
            "A message has room for 160 basic characters. A single other character reduces that to 70.",
            {"": "Replace other characters with basic ones where possible", "all": "As written"},
        ),
        TEMPLATE,
    )
    service = TWILIO
    written = staticmethod(sms_of)

    def __init__(self, lane: LaneFacts = NO_LANE, **options: Any) -> None:
        super().__init__(lane, **options)
        # The URL for status reports, without the delivery's number; may be empty.
        self.callback = callback_of(lane.account)

    def parse_destination(self, data: Mapping[str, str]) -> ParsedDestination:
        """Parse `phone`, with a newsletter's `region` and `countries`.

        Raises InvalidDestination in the reader's language.
        """
        # Loads the numbering plans of all countries.
        from channels.sms.number import mobile_number

        given = {name: value for name, value in data.items() if name not in ("region", "countries")}
        typed = read_fields(self.destination_fields, given, owner=self.label)["phone"]
        region = data.get("region", "")
        countries = data.get("countries", "").split() or ([region] if region and "region" in data else [])
        number, shown, region = mobile_number(typed, region=region, countries=countries)
        return ParsedDestination(core=number, label=shown, config={"number": number, "region": region})

    def lane_account(self, core: str, options: Mapping[str, str]) -> str:
        return options.get("account", "")

    def message(self, body: Any, to: Recipient, refusal: str) -> Message[Any]:
        return message_to(to.core, body or TextMessage(""), delivery_id=to.delivery_id, refusal=refusal)

    def address(self, to: Target) -> str:
        return TWILIO_API

    def hidden(self, to: Target) -> list[str]:
        """Twilio's text is logged, but must not name the recipient."""
        number = to.config.get("number", "")
        return [self.credentials["auth_token"], number, number.removeprefix("+")]

    def post(self, api: ApiClient, body: TextMessage) -> Sent:
        sender, delivery = self.credentials["sender"], api.config["delivery"]
        by = "MessagingServiceSid" if sender.startswith("MG") else "From"
        form = {"To": api.config["number"], by: sender, "Body": body.text}
        if body.seconds:
            form["ValidityPeriod"] = str(body.seconds)
        if self.callback and delivery:
            form["StatusCallback"] = f"{self.callback}{delivery}/"
        return Sent(self._call(api, "POST", "/Messages", data=form, read=_sid_of, posting=True))

    def find(self, api: ApiClient, body: TextMessage, begun_at: datetime) -> Sent | None:
        """Twilio has no idempotency key. Not by DateSent, which queued messages lack."""
        since = begun_at - CLOCKS_APART

        def read(answer: ApiResponse) -> Sent | None:
            for message in answer.needed(list, "messages"):
                if isinstance(message, Mapping) and _is_it(message, api.config["number"], body.text, since):
                    return Sent(str(message.get("sid")))
            return None

        query = {"To": api.config["number"], "PageSize": str(LOOKED_THROUGH)}
        return self._call(api, "GET", "/Messages", params=query, read=read)

    def account_name(self, api: ApiClient) -> str:
        wanted = ("friendly_name", "status")
        name, status = self._call(api, "GET", "", read=lambda it: [it.needed(str, of) for of in wanted])
        if status != ACTIVE:
            raise InvalidDestination(f"account_sid: Twilio reports that the account is {status[:20]}.")
        return f"{name[:100]}, as {self.credentials['sender']}"

    def _call(
        self, api: ApiClient, method: str, place: str, *, read: Callable[[ApiResponse], T], **options: Any
    ) -> T:
        sid, token = self.credentials["account_sid"], self.credentials["auth_token"]
        path = f"/2010-04-01/Accounts/{sid}{place}.json"
        answer: T = api.call(method, path, auth=(sid, token), read=read, **options)
        return answer


def _is_it(message: Mapping[str, Any], number: str, text: str, since: datetime) -> bool:
    body = message.get("body")
    # Trial accounts prepend a text.
    if message.get("to") != number or not isinstance(body, str) or not body.endswith(text):
        return False
    created = mail_date(str(message.get("date_created")))
    is_recent = created is not None and created >= since
    return is_recent and bool(MESSAGE_SID.fullmatch(str(message.get("sid"))))


def _sid_of(answer: ApiResponse) -> str:
    sid = answer.at("sid")
    if not isinstance(sid, str) or not MESSAGE_SID.fullmatch(sid):
        raise UnreadableAnswer("Twilio returned no message.")
    return sid


def message_to(
    number: str, text: TextMessage, *, delivery_id: int = 0, refusal: str = ""
) -> Message[TextMessage]:
    """`number` is in E.164."""
    return Message(text, {"number": number, "delivery": str(delivery_id or "")}, refusal=refusal)


def callback_of(account: str) -> str:
    """Return the URL for status reports, without the delivery's number.

    Empty if unreachable: Twilio refuses such URLs (21609).
    """
    host = urlsplit(settings.SITE_URL).hostname or ""
    is_reachable = "." in host and not host.replace(".", "").isdigit()
    return f"{settings.SITE_URL}/sms/{account}/status/" if is_reachable else ""
