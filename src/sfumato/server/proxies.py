"""Where a request comes from, when proxies that are known hand it on.

Only what a known proxy adds is believed: of the list in X-Forwarded-For, the last address that is
not a known proxy's. Whatever stands before it may be an invention of the client.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass

from sfumato.errors import ParameterError
from sfumato.server.errors import ApiError
from sfumato.server.headers import is_direct
from sfumato.server.http import Call

_Network = ipaddress.IPv4Network | ipaddress.IPv6Network
LOOPBACK = ("127.0.0.0/8", "::1")


@dataclass(frozen=True, slots=True)
class Proxies:
    """The networks of the proxies in front of a server; none, if there are none."""

    networks: tuple[_Network, ...] = ()

    @classmethod
    def of(cls, addresses: Iterable[str]) -> Proxies:
        """From addresses (10.0.0.2) and networks (10.0.0.0/24)."""
        found = []
        for one in addresses:
            try:
                found.append(ipaddress.ip_network(one))
            except ValueError:
                raise ParameterError(
                    f"{one!r} is no address of a proxy: 10.0.0.2 and 10.0.0.0/24 are",
                    parameter="proxies",
                ) from None
        return cls(tuple(found))

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self.networks)

    def visitor(self, call: Call) -> str:
        """Whose request it is, for counting only: an address, of IPv6 the network."""
        at = call.peer
        if self._knows(at):
            hops = call.headers.get(b"x-forwarded-for", b"").decode("latin-1").split(",")
            others = [one.strip() for one in hops if not self._knows(one.strip())]
            at = others[-1] if others else at
        return self.visitor_at(at)

    def visitor_at(self, address: str) -> str:
        """Whom an address is counted as: one visitor has a whole /64 of IPv6."""
        try:
            found = ipaddress.ip_address(address)
        except ValueError:
            return address[:50]
        if found.version == 4:
            return address
        return str(ipaddress.ip_network((found, 64), strict=False))

    def _knows(self, address: str) -> bool:
        try:
            found = ipaddress.ip_address(address)
        except ValueError:
            return False
        return any(found in network for network in self.networks)


def require_direct(call: Call) -> None:
    """Refuse what reaches a server for this machine alone by way of somebody else.

    It was started for nobody but this machine, and whoever put a proxy before it, or made a name
    point at it, has opened it to others without saying so.
    """
    if not is_direct(call.headers):
        raise ApiError(
            "misdirected",
            "this server is for programs of its own machine, and the request comes through a proxy "
            "or under a foreign name",
            "ask http://127.0.0.1 or http://localhost; behind a proxy, start it with "
            "--behind-proxy",
        )
