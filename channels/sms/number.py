from collections.abc import Collection

import phonenumbers
from django.utils.translation import gettext
from phonenumbers import NumberParseException, PhoneNumberFormat, PhoneNumberType

from common.ports.channels import InvalidDestination

LONGEST = 40
ANY_COUNTRY = "*"
REGIONS: frozenset[str] = frozenset(phonenumbers.SUPPORTED_REGIONS)
# No text messages, or only at the owner's expense.
NOT_MOBILE = frozenset(
    {
        PhoneNumberType.FIXED_LINE,
        PhoneNumberType.TOLL_FREE,
        PhoneNumberType.PREMIUM_RATE,
        PhoneNumberType.SHARED_COST,
        PhoneNumberType.PAGER,
        PhoneNumberType.UAN,
        PhoneNumberType.VOICEMAIL,
    }
)


def mobile_number(typed: str, *, region: str = "", countries: Collection[str] = ()) -> tuple[str, str, str]:
    """Parse a number that can receive text messages. Return it in E.164, as shown, and its country.

    `region` applies to numbers without a country code; `countries` are those allowed (none: all). Raises
    InvalidDestination in the reader's language.
    """
    try:
        number = phonenumbers.parse(typed[:LONGEST], region or None)
    except NumberParseException as error:
        if error.error_type == NumberParseException.INVALID_COUNTRY_CODE and not region:
            said = gettext("Please start with a plus sign and your country code, such as +49.")
        else:
            said = gettext("This doesn’t look like a phone number. Please check it.")
        raise InvalidDestination(said) from error
    if len(typed) > LONGEST or number.extension or not phonenumbers.is_valid_number(number):
        raise InvalidDestination(gettext("This phone number doesn’t exist. Please check it."))
    if phonenumbers.number_type(number) in NOT_MOBILE:
        raise InvalidDestination(
            gettext("This number can’t receive text messages. Please enter a mobile number.")
        )
    of = phonenumbers.region_code_for_number(number) or ""
    if countries and ANY_COUNTRY not in countries and of not in countries:
        raise InvalidDestination(gettext("Numbers from this country aren’t supported here."))
    e164 = phonenumbers.format_number(number, PhoneNumberFormat.E164)
    return e164, phonenumbers.format_number(number, PhoneNumberFormat.INTERNATIONAL), of
