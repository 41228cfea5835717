"""The anti-robot question, answered as by an English reader."""

import re

from subscriptions.subscribers.antispam import NUMBER_NAMES

ASKED = re.compile(r"How much is (\w+) plus (\w+)\? Please answer in digits\.")


def answer_to(text: str) -> str:
    """Return the answer to the question in a text."""
    found = ASKED.search(text)
    assert found, text
    numbers = {word: number for number, word in NUMBER_NAMES.items()}
    return str(numbers[found[1]] + numbers[found[2]])
