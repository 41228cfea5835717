"""The demo of `manage.py demo`: a sample blog, and services for its bridges to post to."""

# Set in the environment of each process of a demo.
MARK = "FEEDLETTER_DEMO"
