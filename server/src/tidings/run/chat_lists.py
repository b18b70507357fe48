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
from tidings.kernel.clock import Clock, SystemClock
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


def join_settling(client: Client, epoch: Epoch, *, is_read_only: bool = False) -> Settling:
    """What every store of rows needs. With `first_epoch`, rows are believed as they stand."""
    memberships = DynamoRows(client, SystemClock())  # Only read: nobody asks for the time.
    return Settling(client, DynamoReader(client), memberships, epoch, is_read_only=is_read_only)


def join_lists(client: Client, epoch: Epoch = first_epoch) -> DynamoLists:
    return DynamoLists(client, join_settling(client, epoch))


def join_watermarks(client: Client, clock: Clock, epoch: Epoch = first_epoch) -> DynamoWatermarks:
    return DynamoWatermarks(client, clock, join_settling(client, epoch))


def join_chat_lists(
    client: Client, keys: Keys, clock: Clock, told: TellGain = _nobody, *, epoch: Epoch = first_epoch
) -> ChatLists:
    """`told` hears whenever somebody got further."""
    chats, log, lists = DynamoRows(client, clock), DynamoReader(client), join_lists(client, epoch)
    directs, watermarks = Directs(chats), join_watermarks(client, clock, epoch)
    audience = ReadAudience(directs)
    return ChatLists(
        Marking(watermarks, lists, chats, log, told),
        ChatList(lists, watermarks, chats, keys, clock),
        Statuses(audience, watermarks),
        directs,
    )


def join_rows(client: Client, keys: Keys, audience: Audience, epoch: Epoch = first_epoch) -> Rows:
    truth = DynamoTruth(client, join_settling(client, epoch))
    return Rows(truth, audience, DynamoReader(client), Previews(keys, words))


def words(body: bytes) -> str:
    return content.decode(body).text
