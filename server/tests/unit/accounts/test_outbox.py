"""The queue of codes is bounded, and a failed message does not stop the next one."""

import asyncio
import io
import logging

import pytest
from fixtures.memory_keys import AdjustableClock

from tidings.accounts.model import Phone
from tidings.accounts.phone_login import ConsoleSms, SmsQueue, SmsTask
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId
from tidings.kernel.security import Secret

CLOCK = AdjustableClock()


def sms_task(n: int = 0, life_s: int = 600) -> SmsTask:
    return SmsTask(
        tenant=TenantId("acme"),
        to=Phone(f"+4915112345{n:03}"),
        one_time_code=Secret("987654"),
        expires_at_ms=CLOCK.now_ms() + life_s * 1000,
    )


async def test_a_full_outbox_refuses_and_does_not_wait() -> None:
    gate = asyncio.Event()

    async def wait(_: SmsTask) -> None:
        await gate.wait()

    outbox = SmsQueue(wait, CLOCK, max_waiting=2, workers=1)
    for n in range(2):
        outbox.put(sms_task(n))
    with pytest.raises(TidingsError) as caught:
        outbox.put(sms_task(2))
    assert caught.value.code is Code.OVERLOADED


async def test_a_failed_message_is_logged_without_its_code_and_the_next_is_sent(
    caplog: pytest.LogCaptureFixture,
) -> None:
    sent = []

    async def deliver(each: SmsTask) -> None:
        if each.to.endswith("000"):
            raise OSError("no network")
        sent.append(each.to)

    outbox = SmsQueue(deliver, CLOCK, workers=1)
    running = asyncio.create_task(outbox.run())
    with caplog.at_level(logging.WARNING):
        for n in range(3):
            outbox.put(sms_task(n))
        await outbox.join()
    assert [to[-3:] for to in sent] == ["001", "002"]
    assert "could not be sent" in caplog.text
    assert "987654" not in caplog.text
    running.cancel()
    await asyncio.wait([running])


async def test_an_expired_code_is_not_sent() -> None:
    sent = []

    async def deliver(each: SmsTask) -> None:
        sent.append(each)

    outbox = SmsQueue(deliver, CLOCK)
    running = asyncio.create_task(outbox.run())
    outbox.put(sms_task(life_s=0))
    await outbox.join()
    assert sent == []
    running.cancel()
    await asyncio.wait([running])


def test_an_sms_task_does_not_print_its_code() -> None:
    assert "987654" not in repr(sms_task())


async def test_the_console_prints_the_message() -> None:
    stream = io.StringIO()
    await ConsoleSms(stream).send(Phone("+4915112345678"), "123456 is your code")
    assert stream.getvalue() == "SMS to +4915112345678: 123456 is your code\n"
