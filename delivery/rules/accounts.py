"""Names of mail accounts."""

# That of EMAIL_URL.
DEFAULT = "default"
