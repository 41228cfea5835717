"""Servers that refuse our letters (5.7.x): when to leave a domain alone, or a newsletter unsent."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

# A domain's last so many letters are looked at.
LAST_LETTERS = 100
# So many recipients of them, and such a share, and the domain is paused.
LEAST = 10
SHARE = 0.2
# A refusal of our identity is the same for everybody: fewer of them tell as much.
LEAST_OF_IDENTITY = 3
# So many large domains that refuse a newsletter are not the ones at fault.
LARGE_DOMAINS = 3
# A domain is large that has such a share of an issue's recipients, by a sample of so many.
LARGE_SHARE = 0.01
RECIPIENTS_SAMPLED = 2000

_REFUSAL = re.compile(r"5\.7\.[0-9]{1,3}")
# RFC 7372 and RFC 8616 (SPF, DKIM, DMARC, PTR), as Google uses them too; 515 is Microsoft's.
_IDENTITY = re.compile(r"5\.7\.(?:2[5-9]|515)")


@dataclass(frozen=True, slots=True)
class Answers:
    """A domain's last letters: how many had an answer, and how many recipients it refused.

    `identity`: how many it refused because of who we are.
    """

    count: int
    refused: int
    identity: int = 0


def is_refusal(status: str) -> bool:
    """Whether an enhanced code (RFC 3463) is about policy: ours, the letter's, the reputation."""
    return _REFUSAL.fullmatch(status) is not None


def is_about_identity(status: str) -> bool:
    """Whether a code says that we are not who we say we are."""
    return _IDENTITY.fullmatch(status) is not None


def may_matter(statuses: Sequence[str]) -> bool:
    """Whether a domain's refusals are enough to pause anything, whatever else it answered."""
    refused = sum(map(is_refusal, statuses))
    return refused >= LEAST or sum(map(is_about_identity, statuses)) >= LEAST_OF_IDENTITY


def refuses(answers: Answers) -> bool:
    """Whether the domain refuses so much that it is better left alone."""
    return answers.refused >= LEAST and answers.refused >= SHARE * answers.count


def doubts_us(answers: Answers) -> bool:
    """Whether the domain does not believe that we are who we say we are."""
    return answers.identity >= LEAST_OF_IDENTITY and answers.identity >= SHARE * answers.count


def large(domains: Sequence[str]) -> dict[str, float]:
    """The large ones, with their share, of a sample of recipients' domains."""
    shares = {domain: count / len(domains) for domain, count in Counter(domains).items() if domain}
    return {domain: share for domain, share in shares.items() if share >= LARGE_SHARE}


def stops_newsletter(answers: Answers, *, is_large: bool, large_that_refuse: int) -> bool:
    """Whether a domain's answers stop the newsletter, not only its letters to that domain.

    `large_that_refuse`: how many large domains are paused because they refuse, this one included.
    """
    if not is_large:
        return False
    return doubts_us(answers) or (refuses(answers) and large_that_refuse >= LARGE_DOMAINS)
