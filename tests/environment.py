"""Pytest plugin that is loaded before Django: a Discord application switches the bot on.

`DISCORD_APPLICATION_ID= python -m pytest` runs the tests without the bot, READER=off those without readers.
"""

import os

DISCORD = {
    "DISCORD_APPLICATION_ID": "500000000000000005",
    "DISCORD_PUBLIC_KEY": "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8",
    "DISCORD_BOT_TOKEN": "MTA.bot-token.AbCdEf",
}
if "DISCORD_APPLICATION_ID" not in os.environ:
    os.environ.update(DISCORD)
# The variables that switch apps on and off in this process.
SWITCHES = {name: os.environ[name] for name in ("READER", *DISCORD) if name in os.environ}


def pytest_configure() -> None:
    """Give processes that tests start the usual environment, in which the bot is off."""
    if DISCORD.items() <= SWITCHES.items():
        for name in DISCORD:
            os.environ.pop(name, None)
