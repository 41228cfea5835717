"""iffy:hint-announce (http://tech.interfluidity.com/xml/iffy/)."""

from collections.abc import Iterable

from common.text import one_line, shortened

# Without scheme and last slash.
NAMESPACE = "tech.interfluidity.com/xml/iffy"
ALWAYS, NEVER, PIGGYBACK = "always", "never", "piggyback"
MAX_POLICY_SHOWN = 40
UNKNOWN = (
    "A post has the iffy:hint-announce policy “{}”, which is none of always, never and piggyback; it is sent"
    " as any other."
)


def announced(policies: Iterable[str]) -> tuple[str, str]:
    """Return Entry.announce, and the policy if unknown. Restricted hints are for other readers."""
    policy = next(filter(None, map(str.strip, policies)), ALWAYS).lower()
    if policy in (NEVER, PIGGYBACK):
        return policy, ""
    return "", "" if policy == ALWAYS else shortened(one_line(policy), MAX_POLICY_SHOWN)


def unknown_policy(policies: Iterable[str]) -> list[str]:
    unknown = next(filter(None, policies), "")
    return [UNKNOWN.format(unknown)] if unknown else []
