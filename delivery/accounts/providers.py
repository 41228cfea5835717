"""Data of mail providers: servers, and credentials to enter."""

from collections.abc import Mapping
from dataclasses import dataclass

from channels.email.smtp_login import IMPLICIT, STARTTLS

APP_PROOF = "An app password, not the one you sign in with there."
WHOLE_ADDRESS = "Your full email address."


@dataclass(frozen=True, slots=True)
class Provider:
    """Provider with an SMTP server.

    `user`, `proof`: the values of user and password. `link`: where to create that, or documentation.
    """

    name: str
    host: str
    port: int = 465
    security: str = IMPLICIT
    user: str = WHOLE_ADDRESS
    proof: str = "The password of that address."
    note: str = ""
    link: str = ""


PROVIDERS: Mapping[str, Provider] = {
    "gmail": Provider(
        "Gmail and Google Workspace",
        "smtp.gmail.com",
        proof=APP_PROOF,
        note=(
            "Google lets you create app passwords once two-step verification is on. "
            "The limit is 500 emails a day with gmail.com and 2,000 with Workspace."
        ),
        link="https://myaccount.google.com/apppasswords",
    ),
    "microsoft-365": Provider(
        "Microsoft 365",
        "smtp.office365.com",
        587,
        STARTTLS,
        note=(
            "An admin of your organisation must allow “Authenticated SMTP” for the "
            "mailbox. Addresses at outlook.com and hotmail.com don’t work, because "
            "Microsoft accepts no passwords from programs there."
        ),
        link="https://learn.microsoft.com/exchange/clients-and-mobile-in-exchange-online/"
        "authenticated-client-smtp-submission",
    ),
    "icloud": Provider(
        "iCloud Mail",
        "smtp.mail.me.com",
        587,
        STARTTLS,
        proof="An app-specific password, not the password of your Apple Account.",
        note="Apple’s limit is 1,000 emails a day.",
        link="https://account.apple.com/account/manage",
    ),
    "yahoo": Provider(
        "Yahoo Mail", "smtp.mail.yahoo.com", proof=APP_PROOF, link="https://login.yahoo.com/account/security"
    ),
    "aol": Provider(
        "AOL Mail", "smtp.aol.com", proof=APP_PROOF, link="https://login.aol.com/account/security"
    ),
    "fastmail": Provider(
        "Fastmail",
        "smtp.fastmail.com",
        proof=APP_PROOF,
        link="https://app.fastmail.com/settings/security/apps",
    ),
    "zoho": Provider(
        "Zoho Mail",
        "smtp.zoho.com",
        proof=("The password of that address, or an app password if two-step sign-in is on."),
        note=(
            "For European data centres use smtp.zoho.eu, and for organisations "
            "smtppro.zoho.com or smtppro.zoho.eu."
        ),
        link="https://www.zoho.com/mail/help/zoho-smtp.html",
    ),
    "proton": Provider(
        "Proton Mail",
        "smtp.protonmail.ch",
        587,
        STARTTLS,
        user="The address that the token was created for.",
        proof="An SMTP token, not the password you sign in with there.",
        note="Proton creates tokens only for addresses at a custom domain.",
        link="https://proton.me/support/smtp-submission",
    ),
    "gmx": Provider(
        "GMX",
        "mail.gmx.net",
        587,
        STARTTLS,
        note=("First allow POP3 and IMAP in GMX’s settings. For addresses at gmx.com use mail.gmx.com."),
        link="https://hilfe.gmx.net/pop-imap/einschalten.html",
    ),
    "webde": Provider(
        "WEB.DE",
        "smtp.web.de",
        587,
        STARTTLS,
        note="Allow POP3 and IMAP in WEB.DE’s settings first.",
        link="https://hilfe.web.de/pop-imap/einschalten.html",
    ),
    "t-online": Provider(
        "Telekom Mail (t-online.de)",
        "securesmtp.t-online.de",
        proof="A password for email programs, not the one of your Telekom login.",
        link="https://www.telekom.de/hilfe/apps-dienste/e-mail",
    ),
    "mailbox-org": Provider(
        "mailbox.org",
        "smtp.mailbox.org",
        proof="The password of that address, or an app password.",
        link="https://kb.mailbox.org",
    ),
    "posteo": Provider("Posteo", "posteo.de", link="https://posteo.de/en/help"),
    "ionos": Provider(
        "IONOS",
        "smtp.ionos.com",
        note="In Germany smtp.ionos.de, in the United Kingdom smtp.ionos.co.uk, in France smtp.ionos.fr, in"
        " Spain smtp.ionos.es.",
        link="https://www.ionos.com/help/email/",
    ),
    "strato": Provider("STRATO", "smtp.strato.de", link="https://www.strato.de/faq/mail/"),
    "ovh": Provider(
        "OVHcloud",
        "ssl0.ovh.net",
        note=(
            "Email Pro and Exchange mailboxes have separate servers, such as "
            "pro1.mail.ovh.net and ex.mail.ovh.net."
        ),
        link="https://help.ovhcloud.com",
    ),
    "infomaniak": Provider("Infomaniak", "mail.infomaniak.com", link="https://www.infomaniak.com/en/support"),
    "gandi": Provider("Gandi", "mail.gandi.net", link="https://docs.gandi.net/en/gandimail/"),
    "hostinger": Provider("Hostinger", "smtp.hostinger.com", link="https://support.hostinger.com"),
    "namecheap": Provider(
        "Namecheap Private Email", "mail.privateemail.com", link="https://www.namecheap.com/support/"
    ),
}


def provider_of(host: str) -> Provider | None:
    wanted = host.lower()
    return next((each for each in PROVIDERS.values() if each.host == wanted), None)
