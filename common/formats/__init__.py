"""Date formats instead of Django's (FORMAT_MODULE_PATH)."""
