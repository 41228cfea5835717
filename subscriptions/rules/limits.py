"""Limits of mail caused by sign-ups, per network, address, newsletter and domain."""

USUAL_LIMITS = "ip=10/hour, ip=30/day, address=10/day, newsletter=1000/hour, domain=1000/hour"


def counted_as(core: str) -> str:
    """Return the likely mailbox, without +tag, dots and case. Two people may share a limit."""
    local, _, domain = core.lower().rpartition("@")
    mailbox = local.partition("+")[0].replace(".", "")
    return f"{mailbox}@{'gmail.com' if domain == 'googlemail.com' else domain}"
