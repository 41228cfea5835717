"""Limits of mail caused by sign-ups, per network, address, newsletter and domain."""

from ipaddress import ip_network

from common.net.addresses import read_address

USUAL_LIMITS = "ip=10/hour, ip=30/day, address=10/day, newsletter=1000/hour, domain=1000/hour"
_NEAR = tuple(
    map(
        ip_network,
        (
            *("127.0.0.0/8", "::1/128"),  # loopback
            *("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"),  # RFC 1918, RFC 4193
            *("169.254.0.0/16", "fe80::/10"),  # link-local
        ),
    )
)


def is_near(ip: str) -> bool:
    """Return whether it is local or private, and so hardly a reader's."""
    address = read_address(ip)
    return address is None or any(address in network for network in _NEAR)


def counted_as(core: str) -> str:
    """Return the likely mailbox, without +tag, dots and case. Two people may share a limit."""
    local, _, domain = core.lower().rpartition("@")
    mailbox = local.partition("+")[0].replace(".", "")
    return f"{mailbox}@{'gmail.com' if domain == 'googlemail.com' else domain}"
