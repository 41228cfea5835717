"""Appearance of the site and its newsletters, and their pictures."""
