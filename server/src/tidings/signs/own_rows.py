"""Notifies a user's own devices that a row of their chat list changed."""

import asyncio
from typing import final

from tidings.kernel.ids import ChatKey, UserId
from tidings.routing.model import ChatRowChanged, RegistryUnavailableError, encode_messages, group_by_gateway
from tidings.signs.ports import BusPublisher, RouteLookup


@final
class ChatRowNotifier:
    def __init__(self, bus: BusPublisher, routes: RouteLookup) -> None:
        self._bus = bus
        self._routes = routes

    async def notify_changed(self, chat: ChatKey, user: UserId) -> None:
        """Notify every connected device of the user, also the one that made the change.

        Never raises for Redis: a device that is not notified reads the change with its chat list.
        """
        try:
            found = await self._routes.look_up(chat.tenant, [user])
            going = group_by_gateway(user, found.found.get(user, ()))
            sending = (
                self._bus.publish_to_gateway(
                    gateway, encode_messages((ChatRowChanged(chat.tenant, user, chat.chat, devices),))
                )
                for gateway, devices in going.items()
            )
            await asyncio.gather(*sending)
        except RegistryUnavailableError:
            return
