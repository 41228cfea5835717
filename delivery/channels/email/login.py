"""Tries an account: connects, encrypts and logs in as sending does, and says what the server said."""

import asyncio
import ssl

from delivery.channels.email.answers import words
from delivery.channels.email.failures import CannotConnect
from delivery.channels.email.helo import our_name
from delivery.channels.email.pipeline import Pipeline
from delivery.channels.email.servers import SmtpSettings
from delivery.channels.email.wire import Reply, Timeouts

IMPATIENT = Timeouts(connect=10, reply=10)


class CannotLogIn(ValueError):
    """The account would not do. The message says why, in the server's words, never the password."""


def log_in(target: object, *, context: ssl.SSLContext | None = None) -> str:
    """What a server answered to the login, in a sentence. Network. Raises CannotLogIn."""
    if not isinstance(target, SmtpSettings):
        raise CannotLogIn("Only SMTP servers can be tried like this. Send a test mail instead.")
    try:
        reply = asyncio.run(_reply_to_login(target, context))
    except CannotConnect as error:
        raise CannotLogIn(str(error)) from None
    if reply is None:
        return f"{target.name} answers; it was not asked for a login, because the URL has no user."
    return f"{target.name} took the login: {words(reply.code, reply.text)}"


async def _reply_to_login(target: SmtpSettings, context: ssl.SSLContext | None) -> Reply | None:
    pipeline = Pipeline(target, helo=our_name(), context=context, timeouts=IMPATIENT)
    try:
        return (await pipeline.ready()).login
    finally:
        await pipeline.close()
