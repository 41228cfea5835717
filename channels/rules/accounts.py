"""Names of mail accounts."""

# The account of EMAIL_URL.
DEFAULT_ACCOUNT = "default"
