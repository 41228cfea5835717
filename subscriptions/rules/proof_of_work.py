"""A small sum that a browser solves within a second or so, and that we check at once.

Each part wants a number with which SHA-256 of challenge, part and number begins with so many zero bits. Eight
easy parts take as long as one hard part on average, and vary less: hardly anybody is unlucky.
"""

from hashlib import sha256
from itertools import count

PARTS = 8
BITS = 12
LONGEST_NUMBER = 12


def is_solution(challenge: str, numbers: str) -> bool:
    """Whether `numbers`, with commas between them, solve all parts."""
    found = numbers.split(",", PARTS)
    return len(found) == PARTS and all(_fits(challenge, part, number) for part, number in enumerate(found))


def _fits(challenge: str, part: int, number: str) -> bool:
    if not (number.isascii() and number.isdecimal()) or len(number) > LONGEST_NUMBER:
        return False
    digest = sha256(f"{challenge}:{part}:{number}".encode()).digest()
    return int.from_bytes(digest[:4]) >> (32 - BITS) == 0


def solve(challenge: str) -> str:
    """What a browser does; for programs."""
    numbers = (next(n for n in map(str, count()) if _fits(challenge, part, n)) for part in range(PARTS))
    return ",".join(numbers)
