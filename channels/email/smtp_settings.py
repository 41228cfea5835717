"""An SMTP server, as its connections need to know it. Pure."""

from dataclasses import dataclass, field

PLAIN, STARTTLS, IMPLICIT = "plain", "starttls", "implicit"


@dataclass(frozen=True, slots=True)
class SmtpSettings:
    """An SMTP server. `security` is plain, starttls or implicit; an empty user logs in nowhere."""

    host: str
    port: int
    user: str = ""
    password: str = field(default="", repr=False)
    security: str = PLAIN

    @property
    def name(self) -> str:
        """host:port, for messages to people."""
        return f"{self.host}:{self.port}"
