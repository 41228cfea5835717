"""A sample blog, and services of its own for its bridges: what `manage.py demo` shows."""

# Set in the environment of each process of a demo.
MARK = "FEEDLETTER_DEMO"
