"""SMTP login (RFC 4954)."""

import base64
import binascii
import hmac
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from channels.email.smtp_replies import CannotConnect, Lost, Reply, reply_words
from channels.rules.trials import Cause

PLAIN, STARTTLS, IMPLICIT = "plain", "starttls", "implicit"
_LOGGED_IN, _CHALLENGE, _REFUSED = 235, 334, 535
# RFC 5321 §4.2.2, §4.2.3: argument not understood; already logged in.
_BAD_ARGUMENT, _OUT_OF_TURN = 501, 503
# Some servers ask for the user twice.
MOST_CHALLENGES = 3
_KNOWN = ("PLAIN", "LOGIN", "CRAM-MD5")


@dataclass(frozen=True, slots=True)
class SmtpSettings:
    """`security` is plain, starttls or implicit; without user there is no login."""

    host: str
    port: int
    user: str = ""
    password: str = field(default="", repr=False)
    security: str = PLAIN

    @property
    def name(self) -> str:
        return f"{self.host}:{self.port}"


Ask = Callable[[str], Awaitable[Reply]]
# Failed tries may lock an account.
_worked: dict[tuple[str, str], str] = {}


async def log_in(target: SmtpSettings, *, offered: Sequence[str], is_encrypted: bool, ask: Ask) -> Reply:
    """Use the first mechanism that works. Raises CannotConnect or Lost.

    A temporary refusal ends it: it would apply to other mechanisms too.
    """
    # Only CRAM-MD5 hides the password from eavesdroppers.
    order = _KNOWN if is_encrypted else _KNOWN[::-1]
    usual = _worked.get((target.name, target.user))
    mechanisms = sorted((name for name in order if name in offered), key=lambda name: name != usual)
    if not mechanisms:
        raise CannotConnect(
            f"{target.name} offers no supported sign-in method ({', '.join(_KNOWN)}). Encrypt the "
            "connection with STARTTLS or TLS "
            "(“Email set-up”, or EMAIL_URL), or remove the user and password.",
            Cause.NO_LOGIN,
        )
    refusal: Reply | None = None
    for mechanism in mechanisms:
        try:
            reply = await _tried(mechanism, target, ask)
        except Lost:
            # Some servers hang up after a refusal, which is the cause to report.
            if refusal is None:
                raise
            break
        if reply.code == _LOGGED_IN or (reply.code == _OUT_OF_TURN and refusal is None):
            _worked[target.name, target.user] = mechanism
            return reply
        # A wrong password is more informative than an unknown mechanism.
        if refusal is None or refusal.code != _REFUSED:
            refusal = reply
        if not 500 <= reply.code < 600:
            break
    assert refusal is not None  # noqa: S101 - for the type checker
    said = reply_words(refusal.code, refusal.text)
    if 500 <= refusal.code < 600:
        raise CannotConnect(
            f"{target.name} refused the sign-in. Check the user and password (“Set up "
            f"email”, or EMAIL_URL): {said}",
            Cause.LOGIN,
            said,
        )
    text = f"{target.name} can’t check the sign-in now. It will be retried automatically: {said}"
    raise CannotConnect(text, Cause.NOT_READY, said)


async def _tried(mechanism: str, target: SmtpSettings, ask: Ask) -> Reply:
    user, password = target.user.encode(), target.password.encode()
    if mechanism == "LOGIN":
        return await _by_name_and_password(user, password, ask)
    if mechanism == "PLAIN":
        answer = _base64(b"\0" + user + b"\0" + password)
        reply = await ask(f"AUTH PLAIN {answer}")
        if reply.code == _BAD_ARGUMENT:
            reply = await ask("AUTH PLAIN")
    else:
        reply = await ask("AUTH CRAM-MD5")
        digest = hmac.new(password, _decoded(reply.text), "md5").hexdigest()
        answer = _base64(user + b" " + digest.encode())
    if reply.code == _CHALLENGE:
        reply = await ask(answer)
    return await _ended(reply, ask)


async def _by_name_and_password(user: bytes, password: bytes, ask: Ask) -> Reply:
    # Without the user: some servers refuse an argument, others ignore it and ask again.
    reply = await ask("AUTH LOGIN")
    knows_user = False
    for _ in range(MOST_CHALLENGES):
        if reply.code != _CHALLENGE:
            return reply
        question = _decoded(reply.text).lower()
        if b"pass" in question or (knows_user and b"user" not in question):
            return await _ended(await ask(_base64(password)), ask)
        reply, knows_user = await ask(_base64(user)), True
    return await _ended(reply, ask)


async def _ended(reply: Reply, ask: Ask) -> Reply:
    return await ask("*") if reply.code == _CHALLENGE else reply


def _decoded(challenge: bytes) -> bytes:
    try:
        return base64.b64decode(challenge)
    except binascii.Error:
        return b""


def _base64(octets: bytes) -> str:
    return base64.b64encode(octets).decode("ascii")
