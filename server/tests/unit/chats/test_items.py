"""Items of one partition never mix: a tenant may have any name."""

import pytest

from tidings.chats.items import BLOCKS, INVITES, block_key, invite_key
from tidings.kernel.ids import ChatId, ChatKey, TenantId, UserId
from tidings.schema.tables.items.chats import chat_key


@pytest.mark.parametrize("tenant", ["block", "invite"])
def test_a_chat_row_has_no_prefix_of_blocks_or_invites(tenant: str) -> None:
    chat, ben = ChatKey(TenantId(tenant), ChatId("g1")), UserId("ben")
    assert not chat_key(chat).startswith((BLOCKS, INVITES))
    assert str(block_key(chat.tenant, ben, UserId("cleo"))["chat_id"]).startswith(BLOCKS)
    assert str(invite_key(chat, ben)["chat_id"]).startswith(INVITES)
