"""What we call ourselves to mail servers."""

import ipaddress

from django.conf import settings


def helo_name() -> str:
    """A name, or an address literal (RFC 5321 §4.1.3)."""
    try:
        address = ipaddress.ip_address(settings.SITE_HOST)
    except ValueError:
        return str(settings.SITE_HOST)
    return f"[{address}]" if address.version == 4 else f"[IPv6:{address}]"
