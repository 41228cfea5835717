"""Letters with placeholders, their recipients, and sessions with fake mail services."""

from collections.abc import Sequence
from typing import Any

from channels.base import Outcome
from channels.email.channel import EmailChannel
from channels.email.esp.session import EspSession
from channels.email.esp.settings import EspSettings, parse_esp_url
from channels.letter import Letter, Recipient
from tests.channels.email_letters import NOW, letter, recipient
from tests.servers.esp_server import KEY, EspServer

# Random letters and digits, as the renderer makes them.
HOLES = {"tonickname": "hQ7xRbT00001x", "removelink": "hQ7xRbT00002x", "toemail": "hQ7xRbT00003x"}
STYLE = "<style>@media print{p{color:red}}</style>"
NAME, LEAVE, EMAIL = HOLES["tonickname"], HOLES["removelink"], HOLES["toemail"]


def a_letter(**changes: Any) -> Letter:
    """Return a letter with its reader's name in subject, text and HTML, and their link."""
    fields = {
        "subject": f"Bees for {NAME}",
        "html": f'{STYLE}<p>Dear {NAME}, <a href="{LEAVE}">leave</a></p>',
        "text": f"Dear {NAME},\n\nbees.\n\nTo leave: {LEAVE}\n",
        "placeholders": HOLES,
    }
    return letter(**{**fields, **changes})


def a_recipient(number: int, *, core: str = "", name: str = "") -> Recipient:
    core = core or f"reader{number}@example.test"
    return recipient(
        delivery_id=number,
        core=core,
        label=core,
        name=name or f"Reader {number}",
        config={"address": core},
        unsubscribe_url=f"https://letters.example.org/unsubscribe/{number}-abc/",
    )


def recipients(*cores: str, count: int = 3) -> list[Recipient]:
    """Return recipients with these addresses, or reader1@example.test and so on."""
    if cores:
        return [a_recipient(number, core=core) for number, core in enumerate(cores, 1)]
    return [a_recipient(number) for number in range(1, count + 1)]


def account(esp: str, server: EspServer, *, key: str = KEY, more: str = "") -> EspSettings:
    """Return an account with the fake service."""
    return parse_esp_url(f"anymail+{esp}://{key}@mg.example.org?api_url={server.url}{more}")


def session(esp: str, server: EspServer, *, key: str = KEY, seconds: float = 2, more: str = "") -> EspSession:
    return EspSession(account(esp, server, key=key, more=more), form=EmailChannel().form, seconds=seconds)


def batch(
    to: EspSession, whom: Sequence[Recipient] | None = None, mail: Letter | None = None
) -> list[Outcome]:
    """Return the outcomes of a letter for these recipients."""
    return to.send_batch(mail or a_letter(), whom or recipients(), now=NOW)
