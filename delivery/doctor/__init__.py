"""Deliverability checks: the DNS, the mail server and the site, and what to change."""
