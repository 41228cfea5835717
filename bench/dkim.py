"""Letters signed a second on one thread, beside bare RSA-2048 signatures by the same OpenSSL."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from statistics import median

from channels.email.dkim.keys import RSA, SigningKey, generate
from channels.email.dkim.signing import sign
from channels.email.letter_form import WireLetter
from channels.letter import Letter, Recipient

ROUNDS = 9
EACH = 500
PARAGRAPH = "The quick brown fox jumps over the lazy dog, and tells about it at some length.\n"


def dkim() -> dict[str, object]:
    """Alternate short rounds, so that the core's speed is the same for both."""
    key = SigningKey("example.org", "bench", generate(RSA))
    message, now = a_letter(), datetime.now(UTC)
    rates = [
        (rate_of(lambda: sign(message, (key,), now)), rate_of(lambda: key.signature(b"x" * 64)))
        for _ in range(ROUNDS)
    ]
    ours, bare = (median(column) for column in zip(*rates, strict=True))
    return {
        "figure": f"letters of {len(message) / 1000:.1f} KB, RSA-signed",
        "rate": ours,
        "unit": "letters/s",
        "baseline": "bare RSA-2048 signatures",
        "baseline_rate": bare,
        "ratio": median(signed / signature for signed, signature in rates),
    }


def rate_of(act: Callable[[], object]) -> float:
    """Return the rate by CPU time, as other processes may run."""
    started = time.thread_time()
    for _ in range(EACH):
        act()
    return EACH / (time.thread_time() - started)


def a_letter() -> bytes:
    """Compose a letter of about 4.5 KB."""
    html = "".join(f"<p style='margin: 0 0 1em'>{PARAGRAPH}</p>\n" for _ in range(17))
    letter = Letter(
        kind="issue",
        newsletter="bench",
        newsletter_title="Bench",
        title="A post",
        subject="A post",
        html=html,
        text=PARAGRAPH * 17,
        token="b" * 24,
        from_email="Bench <letters@example.org>",
        archive_url="https://letters.example.org/s/bench/archive/",
        language="en",
    )
    reader = Recipient(
        delivery_id=1,
        core="reader1@example.org",
        label="reader1@example.org",
        name="Reader",
        unsubscribe_url=f"https://letters.example.org/unsubscribe/{'u' * 43}/",
    )
    return WireLetter(letter, site_host="letters.example.org").message(reader).dated(datetime.now(UTC))
