"""What Twilio's answers mean: https://www.twilio.com/docs/api/errors."""

from channels.http.outcomes import ApiService, Verdict
from channels.http.transport import ApiResponse

TWILIO_API = "https://api.twilio.com"
SAID_STOP = 21610
_GONE = (
    21211,  # no number
    21214,  # cannot be reached
    21408,  # a country that the account may not write to
    SAID_STOP,  # its owner answered STOP
    21612,  # no way from the sender to it
    21614,  # no mobile phone
    21635,  # a landline
)
_ACCOUNT = (
    20003,  # the token
    20005,  # not active
    20404,  # no such account
    21603, 21606, 21659, 21660,  # the sender
    21703, 21704, 21705,  # the messaging service
    30002,  # suspended
)  # fmt: skip
# The queue is full; too many requests.
_BUSY = (20429, 21611, 30001)
# Unreachable for the moment; for a reason that nobody knows.
_AGAIN = (30003, 30008)


def said_in(answer: ApiResponse) -> str:
    words, code = answer.at("message"), answer.at("code")
    if not isinstance(words, str):
        return ""
    return f"{words} ({code})" if isinstance(code, int) and str(code) not in words else words


TWILIO = ApiService(
    name="Twilio",
    words=said_in,
    # An account that is not there is not found, without a code in some answers.
    code=lambda answer: 20003 if answer.status == 401 else answer.at("code"),
    verdicts={
        **dict.fromkeys(_GONE, Verdict.DESTINATION),
        **dict.fromkeys(_ACCOUNT, Verdict.SHARED),
        **dict.fromkeys(_BUSY, Verdict.STOPS),
        **dict.fromkeys(_AGAIN, Verdict.TRY_AGAIN),
        21617: Verdict.MESSAGE,
    },
    advice="Look the code up at twilio.com/docs/api/errors.",
)
