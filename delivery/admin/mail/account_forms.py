"""Forms of mail accounts, with fields instead of a URL."""

from typing import Any

from django import forms
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from unfold.widgets import UnfoldAdminPasswordWidget, UnfoldAdminTextInputWidget

from channels.email.account_url import parse_email_url, url_to
from channels.email.address import parse_address
from channels.email.esp.services import SERVICES
from channels.email.esp.settings import EspSettings
from channels.email.smtp_login import IMPLICIT, PLAIN, STARTTLS, SmtpSettings
from common.admin.model_admin import StyledForm
from common.ports.channels import InvalidDestination
from delivery.accounts.accounts import free_account_name, target_of
from delivery.accounts.providers import PROVIDERS
from delivery.models import Account

SECURITIES = (
    (IMPLICIT, "TLS from the start (usually port 465)"),
    (STARTTLS, "STARTTLS (usually port 587)"),
    (PLAIN, "None: only for a server on this machine or network"),
)
# The services' names for anymail's settings.
SECRET_LABELS = {
    "api_key": "API key",
    "api_token": "API token",
    "server_token": "Server token",
    "secret_key": "Secret key",
    "aws_access_key_id": "Access key ID",
    "aws_secret_access_key": "Secret access key",
}
OPTION_LABELS = {
    "stream": "Message stream",
    "sandbox": "Sandbox",
    "subaccount": "Subaccount",
    "region": "Region",
    "configuration_set": "Configuration set",
    "project": "Project",
    "api_url": "API address",
    "webhook_key": "Signing key of its webhooks",
}
KEPT = "Leave empty to keep the stored one, which is never shown."
STORED = "Stored encrypted and never shown again."
LONGEST_SECRET = 1024
Rows = tuple[tuple[str | None, tuple[str, ...]], ...]


def secret_field(label: str, help_text: str, *, required: bool) -> forms.CharField:
    widget = UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password", "spellcheck": "false"})
    return forms.CharField(
        label=label,
        help_text=help_text,
        required=required,
        max_length=LONGEST_SECRET,
        strip=False,
        widget=widget,
    )


def line_field(label: str, help_text: str = "", *, required: bool = True) -> forms.CharField:
    attrs = {"spellcheck": "false", "autocapitalize": "none", "autocomplete": "off"}
    return forms.CharField(
        label=label,
        help_text=help_text,
        required=required,
        max_length=320,
        widget=UnfoldAdminTextInputWidget(attrs=attrs),
    )


class AccountForm(StyledForm, forms.ModelForm):  # type: ignore[type-arg]
    """Name and sender, common to servers and services. Cleaned data include `url`.

    `rows` are the form's sections with titles; `title` is the first one's.
    """

    title = "Any SMTP server"
    rows: Rows = ()

    sender = line_field(
        "Sender",
        "For example Example News &lt;news@example.org&gt;. This account must be "
        "allowed to send from the address. Newsletters can use a different one.",
        required=False,
    )

    class Meta:
        model = Account
        fields = ("name",)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.known: SmtpSettings | EspSettings | None = None
        if self.instance.pk is not None:
            self.fields["sender"].initial = self.instance.sender
            self.known = known_target(self.instance)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if self.errors:
            return cleaned
        cleaned["sender"] = cleaned["sender"] or self._usual_sender(cleaned)
        url = url_to(self.target(cleaned))
        try:
            parse_email_url(url, name="This")
        except ImproperlyConfigured as error:
            raise ValidationError(str(error).partition(": expected")[0] + ".") from None
        return {**cleaned, "url": url}

    def target(self, cleaned: dict[str, Any]) -> SmtpSettings | EspSettings:
        """Build the settings. Raises ValidationError."""
        raise NotImplementedError

    def _usual_sender(self, cleaned: dict[str, Any]) -> str:
        """Return "" if there is a default sender, else the user, which must be an address."""
        for address, sender in (
            (settings.DEFAULT_FROM_EMAIL, ""),
            (cleaned.get("user"), cleaned.get("user")),
        ):
            try:
                parse_address(str(address))
            except InvalidDestination:
                continue
            return str(sender)
        raise ValidationError(
            {"sender": "Enter the sender, with an address that this account is allowed to send from."}
        )


class ServerForm(AccountForm):
    user = line_field("User", required=False)
    password = secret_field("Password", STORED, required=False)
    host = line_field("Host", "For example mail.example.org.")
    port = forms.IntegerField(label="Port", validators=[MinValueValidator(1), MaxValueValidator(65535)])
    security = forms.ChoiceField(label="Security", choices=SECURITIES)
    rows: Rows = ((None, ("user", "password", "sender")), ("Its server", ("host", "port", "security")))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if isinstance(self.known, SmtpSettings):
            for name in ("user", "host", "port", "security"):
                self.fields[name].initial = getattr(self.known, name)
            if self.known.password:
                self.fields["password"].help_text = KEPT

    def clean_host(self) -> str:
        host = str(self.cleaned_data["host"]).strip().strip("[]")
        if any(character.isspace() or character in "/@?#\\" for character in host):
            raise ValidationError("Enter only the host, for example mail.example.org.")
        return host

    def target(self, cleaned: dict[str, Any]) -> SmtpSettings:
        user, password = cleaned["user"], cleaned["password"]
        if user and not password:
            password = self._kept_password(cleaned)
        if password and not user:
            raise ValidationError(
                {"user": "Enter both user and password, or neither if the server needs no sign-in."}
            )
        return SmtpSettings(cleaned["host"], cleaned["port"], user, password, cleaned["security"])

    def _kept_password(self, cleaned: dict[str, Any]) -> str:
        """Return the stored password, for the same server only. Raises ValidationError."""
        known = self.known
        if not isinstance(known, SmtpSettings) or not known.password:
            raise ValidationError({"password": "Enter the password too."})
        is_same = known.host.lower() == cleaned["host"].lower() and known.port == cleaned["port"]
        if not is_same or (cleaned["security"] == PLAIN and known.security != PLAIN):
            # Otherwise naming another server would disclose a stored password.
            raise ValidationError(
                {"password": "Enter the password again when you change the server, port or security."}
            )
        return known.password


class ServiceForm(AccountForm):
    """Base for mail services. See `service_form`."""

    esp = ""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        known = self.known
        if not isinstance(known, EspSettings):
            return
        for name in ("key", "secret"):
            if name in self.fields:
                self.fields[name].required = False
                self.fields[name].help_text = KEPT
        for name, field in self.fields.items():
            if name == "domain":
                field.initial = known.domain
            elif name.startswith("option_") and name != "option_webhook_key":
                field.initial = known.options.get(name.removeprefix("option_"), "")

    def target(self, cleaned: dict[str, Any]) -> EspSettings:
        known = self.known if isinstance(self.known, EspSettings) and self.known.esp == self.esp else None
        options = dict(known.options) if known else {}
        for name, value in cleaned.items():
            option = name.removeprefix("option_")
            if name != option and (value or option != "webhook_key"):
                options[option] = value
        moved = known is not None and options.get("api_url", "") != known.options.get("api_url", "")
        if moved and not cleaned["key"]:
            raise ValidationError({"key": "Enter the key again when you change the API address."})
        key = cleaned["key"] or (known.key if known else "")
        secret = cleaned.get("secret") or (known.secret if known else "")
        return EspSettings(
            self.esp, key, cleaned.get("domain", ""), {k: v for k, v in options.items() if v}, secret
        )


def service_form(esp: str) -> type[ServiceForm]:
    service = SERVICES[esp]
    fields: dict[str, Any] = {"key": secret_field(SECRET_LABELS[service.key], STORED, required=True)}
    if service.secret:
        fields["secret"] = secret_field(SECRET_LABELS[service.secret], STORED, required=True)
    if service.domain:
        fields["domain"] = line_field("Sending domain", "The domain at the service, such as mg.example.org.")
    more = [name for name in (*service.options, *service.required) if name not in (None, "")]
    for name in dict.fromkeys(more):
        fields[f"option_{name}"] = line_field(OPTION_LABELS[name], required=name in service.required)
    if service.regions:
        choices = [(region, region.upper()) for region in service.regions]
        fields["option_region"] = forms.ChoiceField(label="Region", choices=choices)
    fields["option_webhook_key"] = secret_field(
        OPTION_LABELS["webhook_key"],
        "Only needed to receive bounces here. See docs/sending.md.",
        required=False,
    )
    rows = ((None, (*(name for name in fields if name != "option_webhook_key"), "sender")),)
    last = (("Bounces", ("option_webhook_key",)),)
    facts = {"esp": esp, "title": service.name, "rows": rows + last}
    return type(f"{esp.title()}Form", (ServiceForm,), {**fields, **facts})


def known_target(account: Account) -> SmtpSettings | EspSettings | None:
    """Return the account's settings, or None if its secrets are unreadable."""
    try:
        target = target_of(account)
    except ImproperlyConfigured:
        return None
    return target if isinstance(target, SmtpSettings | EspSettings) else None


def initial_of(provider: str) -> dict[str, Any]:
    """Return the initial values of a new account: a free name and the provider's server."""
    known = PROVIDERS.get(provider)
    name = free_account_name(provider if known or provider in SERVICES else "mail")
    if known:
        return {"name": name, "host": known.host, "port": known.port, "security": known.security}
    return {"name": name} if provider in SERVICES else {"name": name, "port": 465, "security": IMPLICIT}
