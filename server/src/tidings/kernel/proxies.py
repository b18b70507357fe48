"""Tell an operator that a proxy is in front of an edge and not trusted: then all clients share its address."""

import logging
from ipaddress import ip_address

_proxy_log = logging.getLogger(__name__)


class UntrustedProxyDetector:
    """Warn once about a forwarding header from a private address while no proxy is trusted.

    Without trust in the proxy, the limits by address hold for all clients together.
    """

    def __init__(self, setting: str) -> None:
        self._setting = setting
        self.has_warned = False

    def on_forwarded(self, peer: str) -> None:
        """Report that `peer` sent a forwarding header. A public peer is a client that wrote the header itself."""
        if self.has_warned or not _is_private(peer):
            return
        self.has_warned = True
        _proxy_log.warning(
            "%s forwards requests, and %s is not set: all clients behind it share its address and the limits of "
            "that address; name its network there, or set `none` if clients connect directly",
            peer,
            self._setting,
        )


def _is_private(peer: str) -> bool:
    try:
        return not ip_address(peer).is_global
    except ValueError:
        return False
