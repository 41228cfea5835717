"""Format "5 March 2026"."""

DATE_FORMAT = "j F Y"
MONTH_DAY_FORMAT = "j F"
