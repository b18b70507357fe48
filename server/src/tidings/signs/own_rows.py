"""Notifies a user's own devices that a row of their chat list changed."""

import asyncio
from typing import final

from tidings.kernel.ids import ChatKey, UserId
from tidings.routing.model import RoutesAwayError, RowChanged, by_gateway, encode
from tidings.signs.ports import Line, Routes


@final
class OwnRows:
    def __init__(self, line: Line, routes: Routes) -> None:
        self._line = line
        self._routes = routes

    async def changed(self, chat: ChatKey, user: UserId) -> None:
        """Notify every connected device of the user, also the one that made the change.

        Never raises for Redis: a device that is not notified reads the change with its chat list.
        """
        try:
            found = await self._routes.of(chat.tenant, [user])
            going = by_gateway(user, found.found.get(user, ()))
            sending = (
                self._line.to_gateway(gateway, encode((RowChanged(chat.tenant, user, chat.chat, devices),)))
                for gateway, devices in going.items()
            )
            await asyncio.gather(*sending)
        except RoutesAwayError:
            return
