"""The next chat of the step `chats`, while the index of memberships is behind."""

from collections.abc import Sequence
from typing import Any, cast

from fixtures.memory_keys import AdjustableClock

from tidings.erasure.chat_steps import RETRY_MS, ChatStepDeps, ChatSteps
from tidings.erasure.model import Erasure, ErasureCursor, ErasureId, ErasureStep, StepProgress
from tidings.kernel.ids import ChatId, ChatKey, TenantId, UserId

ACME, ANNA = TenantId("acme"), UserId("anna")


class LaggingMemberships:
    """An index that lists chats, of which some memberships were moved already."""

    def __init__(self, listed: Sequence[str], moved: Sequence[str]) -> None:
        self._listed = [ChatId(chat) for chat in listed]
        self._moved = moved

    async def chats_of(
        self, _tenant: TenantId, _user: UserId, after: ChatId | None, limit: int
    ) -> list[tuple[ChatId, None]]:
        return [(chat, None) for chat in self._listed if after is None or chat > after][:limit]

    async def membership(self, chat: ChatKey, _user: UserId) -> object | None:
        return None if chat.chat in self._moved else object()


async def next_chat(listed: Sequence[str], moved: Sequence[str]) -> tuple[StepProgress, AdjustableClock]:
    clock = AdjustableClock()
    deps = ChatStepDeps(
        memberships=cast("Any", LaggingMemberships(listed, moved)),
        depart=cast("Any", None),
        log=cast("Any", None),
        delivery=cast("Any", None),
        clock=clock,
    )
    erasure = Erasure(
        tenant=ACME,
        user=ANNA,
        id=ErasureId("e"),
        requested_ms=0,
        requested_by="test",
        secret=b"s" * 32,
        step=ErasureStep.CHATS,
    )
    return await ChatSteps(deps).rewrite(erasure), clock


async def test_a_membership_that_was_moved_is_skipped() -> None:
    names = [f"g{n:03}" for n in range(60)]
    progress, _ = await next_chat(names, names[:50])
    assert progress == StepProgress(ErasureCursor(chat=ChatId("g050")))


async def test_the_step_waits_while_the_index_lists_only_moved_memberships() -> None:
    progress, clock = await next_chat(["g1"], ["g1"])
    assert progress == StepProgress(wait_until_ms=clock.now_ms() + RETRY_MS)


async def test_the_step_is_done_when_the_index_lists_no_membership() -> None:
    assert (await next_chat([], []))[0] == StepProgress()
