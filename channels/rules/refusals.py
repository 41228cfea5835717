"""Policy refusals (5.7.x) pause a domain or a newsletter."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

# Of a domain.
LAST_LETTERS = 100
# Pause from this number and share of refused recipients.
LEAST = 10
SHARE = 0.2
# Refusals of our identity are the same for all, so fewer are enough.
LEAST_OF_IDENTITY = 3
# This many large domains are not at fault together.
LARGE_DOMAINS = 3
# Share of a sample of recipients that makes a domain large.
LARGE_SHARE = 0.01
RECIPIENTS_SAMPLED = 2000

_REFUSAL = re.compile(r"5\.7\.[0-9]{1,3}")
# RFC 7372 and RFC 8616 (SPF, DKIM, DMARC, PTR), also used by Google; 515 is Microsoft's.
_IDENTITY = re.compile(r"5\.7\.(?:2[5-9]|515)")


@dataclass(frozen=True, slots=True)
class Answers:
    """A domain's last letters: answered, refused, and refused because of our `identity`."""

    count: int
    refused: int
    identity: int = 0


def is_refusal(status: str) -> bool:
    """Return whether it (RFC 3463) concerns policy or reputation."""
    return _REFUSAL.fullmatch(status) is not None


def is_about_identity(status: str) -> bool:
    return _IDENTITY.fullmatch(status) is not None


def may_matter(statuses: Sequence[str]) -> bool:
    """Return whether they could be enough to pause anything."""
    refused = sum(map(is_refusal, statuses))
    return refused >= LEAST or sum(map(is_about_identity, statuses)) >= LEAST_OF_IDENTITY


def refuses(answers: Answers) -> bool:
    return answers.refused >= LEAST and answers.refused >= SHARE * answers.count


def doubts_us(answers: Answers) -> bool:
    return answers.identity >= LEAST_OF_IDENTITY and answers.identity >= SHARE * answers.count


def large(domains: Sequence[str]) -> dict[str, float]:
    """Return shares in a sample of recipients."""
    shares = {domain: count / len(domains) for domain, count in Counter(domains).items() if domain}
    return {domain: share for domain, share in shares.items() if share >= LARGE_SHARE}


def stops_newsletter(answers: Answers, *, is_large: bool, large_that_refuse: int) -> bool:
    """`large_that_refuse`: large domains paused for refusing, this one included."""
    if not is_large:
        return False
    return doubts_us(answers) or (refuses(answers) and large_that_refuse >= LARGE_DOMAINS)
