"""What well-known providers want in an SPF record. Pure."""

# The end of a server's name → what its documentation has senders include.
INCLUDES = {
    "smtp.gmail.com": "_spf.google.com",
    "smtp-relay.gmail.com": "_spf.google.com",
    "smtp.office365.com": "spf.protection.outlook.com",
    "amazonaws.com": "amazonses.com",
    "sendgrid.net": "sendgrid.net",
    "mailgun.org": "mailgun.org",
    "mailjet.com": "spf.mailjet.com",
    "brevo.com": "spf.brevo.com",
    "sendinblue.com": "spf.sendinblue.com",
    "mtasv.net": "spf.mtasv.net",
    "postmarkapp.com": "spf.mtasv.net",
    "sparkpostmail.com": "_spf.sparkpostmail.com",
    "messagingengine.com": "spf.messagingengine.com",
    "fastmail.com": "spf.messagingengine.com",
    "zoho.com": "zohomail.com",
    "zoho.eu": "zohomail.eu",
    "migadu.com": "spf.migadu.com",
    "smtp2go.com": "spf.smtp2go.com",
}


def include_of(host: str) -> str:
    """What to include for a server; empty when it is none we know."""
    host = host.lower().rstrip(".")
    ends = (end for end in INCLUDES if host == end or host.endswith(f".{end}"))
    return next((INCLUDES[end] for end in ends), "")
