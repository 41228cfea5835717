"""Proof of work for browsers, which takes about a second.

SHA-256 of challenge, part and number must begin with BITS zero bits. Eight easy parts vary less in time than
one hard part.
"""

from hashlib import sha256
from itertools import count

PARTS = 8
BITS = 12
LONGEST_NUMBER = 12


def is_solution(challenge: str, numbers: str) -> bool:
    parts = numbers.split(",", PARTS)
    return len(parts) == PARTS and all(_fits(challenge, part, number) for part, number in enumerate(parts))


def _fits(challenge: str, part: int, number: str) -> bool:
    if not (number.isascii() and number.isdecimal()) or len(number) > LONGEST_NUMBER:
        return False
    digest = sha256(f"{challenge}:{part}:{number}".encode()).digest()
    return int.from_bytes(digest[:4]) >> (32 - BITS) == 0


def solve(challenge: str) -> str:
    numbers = (next(n for n in map(str, count()) if _fits(challenge, part, n)) for part in range(PARTS))
    return ",".join(numbers)
