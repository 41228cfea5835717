"""How many codes sign-ups may have sent to phones: each costs, and some numbers are there to be paid for it.

They hold besides SIGN_UP_LIMITS, which are made for mails.
"""

from subscriptions.rules.limits import PERIODS, Limit

HOUR, DAY = PERIODS["hour"], PERIODS["day"]
# Of a number so many digits are counted together: whoever is paid for messages has rows of numbers.
ROW_OF_NUMBERS = 4
PHONE_LIMITS = (
    Limit("phone-number", 2, HOUR),
    Limit("phone-number", 4, DAY),
    Limit("phone-ip", 4, HOUR),
    Limit("phone-ip", 10, DAY),
    Limit("phone-row", 10, HOUR),
    Limit("phone-letter", 200, HOUR),
)


def row_of(number: str) -> str:
    """The row of numbers that a number stands in."""
    return number[:-ROW_OF_NUMBERS]
