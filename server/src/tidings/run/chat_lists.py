"""Joins delivery's use cases with the stores: chat lists, watermarks, ticks, and the rows behind them."""

from typing import NamedTuple

from tidings.chats.directs import Directs
from tidings.chats.store import DynamoRows
from tidings.delivery.audience import ReadAudience
from tidings.delivery.chat_list import ChatList
from tidings.delivery.model import Gain
from tidings.delivery.ports import Audience, Keys, TellGain
from tidings.delivery.previews import Previews
from tidings.delivery.rows import Rows
from tidings.delivery.status import Statuses
from tidings.delivery.store import DynamoLists, DynamoTruth, DynamoWatermarks, Settling
from tidings.delivery.watermarks import Marking
from tidings.kernel.clock import Clock
from tidings.kernel.epoch import Epoch, first_epoch
from tidings.messages import content
from tidings.messages.store import DynamoReader
from tidings.platform.dynamo.client import Client


def _nobody(_: Gain) -> None:
    """For tools and tests: ticks are derived whenever somebody looks."""


class ChatLists(NamedTuple):
    """What people look at and change. The rows themselves are the delivery worker's, see `join_rows`.

    `directs` is what the process knows of direct chats, for whoever else reads.
    """

    marking: Marking
    chat_list: ChatList
    statuses: Statuses
    directs: Directs


def join_lists(client: Client, epoch: Epoch = first_epoch) -> DynamoLists:
    return DynamoLists(client, Settling(client, DynamoReader(client), epoch))


def join_chat_lists(
    client: Client, keys: Keys, clock: Clock, told: TellGain = _nobody, *, epoch: Epoch = first_epoch
) -> ChatLists:
    """`told` hears whenever somebody got further."""
    chats, log, lists = DynamoRows(client, clock), DynamoReader(client), join_lists(client, epoch)
    directs, watermarks = Directs(chats), DynamoWatermarks(client, clock)
    audience = ReadAudience(directs)
    return ChatLists(
        Marking(watermarks, lists, chats, log, told),
        ChatList(lists, watermarks, chats, keys, clock),
        Statuses(audience, watermarks),
        directs,
    )


def join_rows(client: Client, keys: Keys, audience: Audience, epoch: Epoch = first_epoch) -> Rows:
    log = DynamoReader(client)
    truth = DynamoTruth(client, Settling(client, log, epoch))
    return Rows(truth, audience, log, Previews(keys, words))


def words(body: bytes) -> str:
    return content.decode(body).text
