"""`manage.py demo`: a sample blog, a newsletter of each arrangement, five weeks replayed."""
