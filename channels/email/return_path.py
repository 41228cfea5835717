"""Making and proving return addresses."""

from django.conf import settings

from channels.rules.verp import Token, address
from common.signing import is_stamp, stamp

RETURN_PATH_PURPOSE = "bounce"


def return_path(delivery_id: int) -> str:
    """Where the bounces of that delivery go; empty without BOUNCE_DOMAIN."""
    domain = settings.BOUNCE_DOMAIN
    if not domain:
        return ""
    return address(Token(delivery_id, stamp(RETURN_PATH_PURPOSE, f"{delivery_id:x}")), domain)


def is_ours(token: Token) -> bool:
    """Whether we made that return address: whoever names it has seen the letter, or its way."""
    return is_stamp(RETURN_PATH_PURPOSE, token.text, token.stamp)
