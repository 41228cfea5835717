"""Overrides of Django's date formats (FORMAT_MODULE_PATH)."""
