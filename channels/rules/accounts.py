# The account of EMAIL_URL.
DEFAULT_ACCOUNT = "default"
