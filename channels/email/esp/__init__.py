"""Mail services (ESPs), through django-anymail."""
