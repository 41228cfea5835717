import re
from collections.abc import Mapping

from channels import fields
from channels.bridge import TEMPLATE, account_field, account_name
from common.ports.channels import ChannelSpec, Field, ParsedDestination, read_fields
from subscriptions.rules.schedule import ARRANGEMENTS

# More could exceed Twilio's 1,600 characters.
MOST_PARTS = 10


def account_sid(typed: str) -> str:
    if not re.fullmatch(r"AC[0-9a-f]{32}", typed, re.ASCII):
        raise ValueError("it must be AC followed by 32 digits and characters from a to f.")
    return typed


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


class SmsSpec(ChannelSpec):
    """People may sign up themselves with a code, which is the check."""

    key = "sms"
    label = "SMS"
    sentence = "A text message through Twilio to each subscriber with a phone number."
    public_sign_up = True
    is_by_code = True
    arrangements = frozenset(ARRANGEMENTS)
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
            f"From 1 to {MOST_PARTS}. Leave empty for 1, which has room for 160 "
            "characters. Each part costs as "
            "much as a message.",
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
        number = mobile_number(typed, region=region, countries=countries)
        return ParsedDestination(
            core=number.e164, label=number.shown, config={"number": number.e164, "region": number.region}
        )

    def check_account(self, values: Mapping[str, str]) -> str:
        return account_name(self.key, values)
