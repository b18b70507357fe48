"""Pages that a resume reads are charged to its user; a large resume is slowed down, not refused."""

from tidings.gateway.resume.catch_up import FREE_PAGES, PAGE, PageCharger
from tidings.gateway.resume.plan import MissedEntries
from tidings.kernel.ids import ChatId


def pages(count: int) -> MissedEntries:
    return MissedEntries(ChatId("d"), 0, count * PAGE, is_sure=True)


async def test_a_small_resume_asks_no_limiter_and_a_large_one_pays_for_every_page() -> None:
    taken: list[int] = []

    async def charge(tokens: int) -> None:
        taken.append(tokens)

    charges = PageCharger(charge)
    await charges.before([pages(1)] * FREE_PAGES)
    assert taken == []
    await charges.before([pages(1), pages(11)])
    assert sum(taken) == 12
    assert max(taken) <= 8


async def test_a_rate_limited_resume_waits_and_continues() -> None:
    answers = [5, 5, None]

    async def charge(_: int) -> int | None:
        return answers.pop(0)

    await PageCharger(charge).before([pages(FREE_PAGES + 3)])
    assert answers == []


async def test_reads_of_the_gateway_itself_are_not_charged() -> None:
    await PageCharger(None).before([pages(1_000)])
