"""Names of mail accounts."""

# That of EMAIL_URL.
DEFAULT_ACCOUNT = "default"
