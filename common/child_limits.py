"""Imports no Django: child processes use it."""

import resource
from collections.abc import Mapping


def set_limits(limits: Mapping[int, int]) -> None:
    """Set each RLIMIT_…, at most to its hard limit, and disable core dumps."""
    for limit, value in {resource.RLIMIT_CORE: 0, **limits}.items():
        _, most = resource.getrlimit(limit)
        value = value if most == resource.RLIM_INFINITY else min(value, most)
        resource.setrlimit(limit, (value, value))
