"""Joins delivery's use cases with the stores: chat lists, watermarks, ticks, and the rows behind them."""

from typing import NamedTuple

from tidings.chats.directs import DirectChatCache
from tidings.chats.store import DynamoChatStore
from tidings.delivery.audience import StoredAudience
from tidings.delivery.chat_list import ChatList
from tidings.delivery.model import WatermarkAdvanced
from tidings.delivery.ports import AudienceReader, DeliveryKeys, OnWatermarkAdvanced
from tidings.delivery.previews import Previews
from tidings.delivery.rows import ChatRowProjector
from tidings.delivery.status import MessageStatusReader
from tidings.delivery.store import (
    DynamoChatRowReader,
    DynamoChatRowWriter,
    DynamoWatermarkStore,
    EpochReconciler,
)
from tidings.delivery.watermarks import WatermarkService
from tidings.kernel.clock import Clock, SystemClock
from tidings.kernel.epoch import Epoch, initial_epoch
from tidings.messages import content
from tidings.messages.store import DynamoLogReader
from tidings.platform.dynamo.client import DynamoClient


def _nobody(_: WatermarkAdvanced) -> None:
    """For tools and tests: ticks are derived whenever somebody looks."""


class ChatListServices(NamedTuple):
    """What people look at and change. The rows themselves are the delivery worker's, see `build_row_projector`.

    `directs` is what the process knows of direct chats, for whoever else reads.
    """

    marking: WatermarkService
    chat_list: ChatList
    statuses: MessageStatusReader
    directs: DirectChatCache


def build_epoch_reconciler(
    client: DynamoClient, epoch: Epoch, *, is_read_only: bool = False
) -> EpochReconciler:
    """What every store of rows needs. With `initial_epoch`, rows are believed as they stand."""
    memberships = DynamoChatStore(client, SystemClock())  # Only read: nobody asks for the time.
    return EpochReconciler(client, DynamoLogReader(client), memberships, epoch, is_read_only=is_read_only)


def build_chat_row_reader(client: DynamoClient, epoch: Epoch = initial_epoch) -> DynamoChatRowReader:
    return DynamoChatRowReader(client, build_epoch_reconciler(client, epoch))


def build_watermark_store(
    client: DynamoClient, clock: Clock, epoch: Epoch = initial_epoch
) -> DynamoWatermarkStore:
    return DynamoWatermarkStore(client, clock, build_epoch_reconciler(client, epoch))


def build_chat_lists(
    client: DynamoClient,
    keys: DeliveryKeys,
    clock: Clock,
    on_advanced: OnWatermarkAdvanced = _nobody,
    *,
    epoch: Epoch = initial_epoch,
) -> ChatListServices:
    """`on_advanced` hears whenever somebody got further."""
    chats, log, lists = (
        DynamoChatStore(client, clock),
        DynamoLogReader(client),
        build_chat_row_reader(client, epoch),
    )
    directs, watermarks = DirectChatCache(chats), build_watermark_store(client, clock, epoch)
    audience = StoredAudience(directs)
    return ChatListServices(
        WatermarkService(watermarks, lists, chats, log, on_advanced),
        ChatList(lists, watermarks, chats, keys, clock),
        MessageStatusReader(audience, watermarks),
        directs,
    )


def build_row_projector(
    client: DynamoClient, keys: DeliveryKeys, audience: AudienceReader, epoch: Epoch = initial_epoch
) -> ChatRowProjector:
    truth = DynamoChatRowWriter(client, build_epoch_reconciler(client, epoch))
    return ChatRowProjector(truth, audience, DynamoLogReader(client), Previews(keys, preview_text))


def preview_text(body: bytes) -> str:
    return content.decode_content(body).text
