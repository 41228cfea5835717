"""Format "March 5, 2026"."""

DATE_FORMAT = "F j, Y"
MONTH_DAY_FORMAT = "F j"
