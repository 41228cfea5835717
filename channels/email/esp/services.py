from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

_BRACES = r"\{(?=[{%$])"
ALIASES = {"amazon-ses": "ses", "sendinblue": "brevo"}
# Another API address, and the key that signs webhooks.
COMMON_OPTIONS = ("api_url", "webhook_key")


class Style(Enum):
    """Number of letters in one request."""

    MERGE = "merge"  # one form letter with the values of all recipients
    LIST = "list"  # a list of whole messages
    SINGLE = "single"  # one message


@dataclass(frozen=True, slots=True)
class Layout:
    """`messages` is empty if the request itself is the list."""

    messages: str
    subject: str
    html: str
    text: str


@dataclass(frozen=True, slots=True)
class MailService:
    """`key`, `secret`, `domain` and the values of `options` are anymail settings.

    Keys of `options` are those in EMAIL_URL. `metadata`: webhooks return ours. `untracked`: tracking can be
    disabled. `opens`: regular expression for the character that begins a merge field (TOKEN: our tokens);
    `merge_field`: its format.
    """

    name: str
    backend: str
    key: str = "api_key"
    secret: str = ""
    domain: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    regions: Mapping[str, str] = field(default_factory=dict)
    style: Style = Style.SINGLE
    batch: int = 1
    layout: Layout | None = None
    metadata: bool = True
    untracked: bool = True
    opens: str = ""
    merge_field: str = "{}"

    @property
    def opening(self) -> str:
        return self.opens.removeprefix("\\")[:1]


SERVICES: Mapping[str, MailService] = {
    "mailgun": MailService(
        "Mailgun",
        "mailgun",
        domain="sender_domain",
        regions={"us": "https://api.mailgun.net/v3", "eu": "https://api.eu.mailgun.net/v3"},
        style=Style.MERGE,
        batch=500,
        opens=r"%(?=recipient[.%]|[a-z_]*unsubscribe_(?:url|email)%)",
        merge_field="%recipient.{}%",
    ),
    "sendgrid": MailService(
        "SendGrid",
        "sendgrid",
        regions={"us": "https://api.sendgrid.com/v3/", "eu": "https://api.eu.sendgrid.com/v3/"},
        style=Style.MERGE,
        batch=500,
    ),
    "sparkpost": MailService(
        "SparkPost",
        "sparkpost",
        options={"subaccount": "subaccount"},
        regions={"us": "https://api.sparkpost.com/api/v1/", "eu": "https://api.eu.sparkpost.com/api/v1/"},
        style=Style.MERGE,
        batch=500,
        opens=r"\{(?=\{|TOKEN)|(?<=\{)\{",
        merge_field="{{{{{{{}}}}}}}",
    ),
    "postmark": MailService(
        "Postmark",
        "postmark",
        "server_token",
        options={"stream": "message_stream"},
        style=Style.LIST,
        batch=500,
        layout=Layout("", "Subject", "HtmlBody", "TextBody"),
    ),
    "resend": MailService(
        "Resend",
        "resend",
        style=Style.LIST,
        batch=100,
        layout=Layout("", "subject", "html", "text"),
        untracked=False,
    ),
    "mailjet": MailService(
        "Mailjet",
        "mailjet",
        secret="secret_key",  # noqa: S106 - a setting's name
        style=Style.LIST,
        batch=50,
        layout=Layout("Messages", "Subject", "HTMLPart", "TextPart"),
    ),
    "mailtrap": MailService(
        "Mailtrap",
        "mailtrap",
        "api_token",
        options={"sandbox": "sandbox_id"},
        style=Style.LIST,
        batch=500,
        layout=Layout("requests", "subject", "html", "text"),
        untracked=False,
    ),
    "brevo": MailService(
        "Brevo",
        "brevo",
        style=Style.LIST,
        batch=500,
        layout=Layout("messageVersions", "subject", "htmlContent", "textContent"),
        untracked=False,
        opens=_BRACES,
    ),
    "ses": MailService(
        "Amazon SES",
        "amazon_ses",
        "aws_access_key_id",
        secret="aws_secret_access_key",  # noqa: S106 - a setting's name
        options={"region": "region_name", "configuration_set": "configuration_set_name"},
        required=("region",),
        untracked=False,
    ),
    "mailersend": MailService("MailerSend", "mailersend", "api_token", metadata=False, opens=_BRACES),
    "mandrill": MailService("Mandrill", "mandrill", opens=r"\*(?=\|)"),
    "postal": MailService("Postal", "postal", required=("api_url",), metadata=False, untracked=False),
    "scaleway": MailService(
        "Scaleway",
        "scaleway",
        "secret_key",
        options={"project": "project_id", "region": "region"},
        required=("project",),
        untracked=False,
    ),
    "unisender-go": MailService("Unisender Go", "unisender_go", required=("api_url",), opens=_BRACES),
}
