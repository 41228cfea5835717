"""Letters of all sorts, the same in every run."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime

from tests.channels.email_letters import compose_mail, letter, recipient

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
WORDS = (
    *(
        "bees",
        "a",
        "letter",
        "of",
        "the",
        ".",
        "..",
        ".QUIT",
        "From",
        "=",
        "=20",
        "=?utf-8?b?",
        "  ",
        "\t",
        "--",
    ),
    *(
        "Grüße",
        "žluťoučký",
        "日本語の手紙",
        "رسالة",
        "🐝🍯",
        "e\u0301",
        "x" * 120,
        "&amp;",
        "https://blog.example/a?b=c",
    ),
)
LINE_ENDS = ("\n", "\n\n", "\n.", "\n..\n", " \n", "\t\n", "\r\n", " ", " ", " ", " ")
NAMES = ("", "Ada Lovelace", "Łukasz Żółć", '"Q" \\ B', "山田 太郎", "O'Neil, Jr. (x)", "é" * 60, "a=?b")
PIECES = (b" ", b"\t", b"\r\n", b".", b"a b", b"\xc3\xa9")
FOLDS = (b" ", b"\t", b"  ", b"\r\n ", b"\r\n\t", b" \r\n\t ", b"")


def some_text(chance: random.Random) -> str:
    size = chance.choice((0, 1, 3, 40, 400, 400, 4000))
    return "".join(chance.choice(WORDS) + chance.choice(LINE_ENDS) for _ in range(size))


def composed(count: int, *, seed: int = 1) -> Iterator[bytes]:
    """Yield letters of the channel: big and tiny, in many scripts, with dots and long lines."""
    chance = random.Random(seed)
    for number in range(count):
        text = some_text(chance)
        made = compose_mail(
            letter(
                kind=chance.choice(("issue", "confirmation")),
                subject=some_text(chance)[:200],
                text=text,
                html=chance.choice(("", f"<p>{text}</p>", f"<pre>\n{text}\n\n \n</pre>\n\n")),
                newsletter_title=chance.choice(NAMES),
                from_email=f"{chance.choice(('Example', 'Bücher & Co', ''))} <letters@example.org>",
                reply_to=chance.choice(("", "Ré <answers@example.org>")),
            ),
            recipient(delivery_id=number, name=chance.choice(NAMES)),
            site_host="letters.example.org",
        )
        yield made.dated(NOW)


def odd(count: int, *, seed: int = 1) -> Iterator[bytes]:
    """Yield messages as others might make them: white space and folds anywhere, any body."""
    chance = random.Random(seed)
    names = (b"subject", b"To", b"CC", b"X-Odd", b"List-Unsubscribe", b"Reply-To", b"Date", b"References")
    for _ in range(count):
        chosen = [*chance.choices(names, k=chance.randrange(8)), b"From"]
        chance.shuffle(chosen)
        head = b"".join(_odd_field(chance, name) for name in chosen)
        body = b"".join(
            chance.choices((b" ", b"\t", b"\r\n", b".", b"a b", b"\xc3\xa9"), k=chance.randrange(40))
        )
        yield head + b"\r\n" + chance.choice((b"", body + b"\r\n", body + b" \r\n\r\n\t\r\n\r\n"))


def _odd_field(chance: random.Random, name: bytes) -> bytes:
    if name == b"From":
        return (
            b"From:"
            + chance.choice(FOLDS)
            + b"letters@example.org"
            + chance.choice((b"", b" ", b"\t"))
            + b"\r\n"
        )
    words = (b"a" + chance.choice(FOLDS) + b"\xc3\xa9=:;" for _ in range(chance.randrange(5)))
    return name + b":" + chance.choice(FOLDS) + b"x".join(words) + b"z\r\n"
