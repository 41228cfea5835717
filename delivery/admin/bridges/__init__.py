"""Admin of bridges: adding, testing and recent posts."""

from delivery.admin.bridges.add import add_application, add_bridge
from delivery.admin.bridges.set_up import bridge_connected, bridge_reconnect, bridge_set_up

__all__ = ["add_application", "add_bridge", "bridge_connected", "bridge_reconnect", "bridge_set_up"]
