"""Limits that a child process sets for itself before it works on what strangers sent. Imports no Django."""

import resource
from collections.abc import Mapping


def set_limits(limits: Mapping[int, int]) -> None:
    """Set each RLIMIT_… to its value, or to the highest value that is allowed; dump no core."""
    for limit, value in {resource.RLIMIT_CORE: 0, **limits}.items():
        _, most = resource.getrlimit(limit)
        value = value if most == resource.RLIM_INFINITY else min(value, most)
        resource.setrlimit(limit, (value, value))
