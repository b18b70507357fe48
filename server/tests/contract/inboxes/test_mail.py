"""Notifications by e-mail on both engines, against a real SMTP server."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from fixtures.engines import Namespace
from fixtures.inbox_env import DEFAULT
from fixtures.mail_env import MAILED, MailEnv, open_mail_env
from fixtures.tables import Tables
from msgspec.structs import replace

from tidings.accounts.model import EmailRefusal, ProfileChange
from tidings.accounts.store.users import DynamoUserStore
from tidings.inboxes.mail.model import MailConfig, MailTemplate
from tidings.inboxes.mail.rules import RETRY_AFTER_S
from tidings.inboxes.preferences import CategorySettings, Channel, Digest, Excess, Throttle
from tidings.jobs.model import JobKind
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import UserId

type OpenMail = Callable[[], AbstractAsyncContextManager[MailEnv]]


@pytest.fixture
def open_mail(tables: Tables, space: Namespace, tmp_path: Path) -> OpenMail:
    return lambda: open_mail_env(tables, space.tenant, tmp_path / "tidings.key")


class Killed(BaseException):
    """Ends a worker like a signal: no handler catches it."""


async def test_a_user_with_misplaced_dots_in_their_address_receives_a_mail(open_mail: OpenMail) -> None:
    async with open_mail() as at:
        await at.add_user("anna", "anna..b@docomo.example")
        await at.mail.set(at.tenant, DEFAULT, MailConfig(reply_to="help.@shop.example"))
        await at.given("anna", category="sport")
        assert at.smtp.written_recipients == ['TO:<"anna..b"@docomo.example>']
        assert [dict(mail.raw_items())["To"] for mail in at.smtp.mails] == ['"anna..b"@docomo.example']
        assert [mail["Reply-To"].addresses[0].username for mail in at.smtp.mails] == ["help."]
        assert await at.outcome("anna") == ("sent", "")


async def test_a_mail_that_cannot_be_composed_fails_alone(open_mail: OpenMail) -> None:
    """An address that was stored before it was refused, and names that the rules of today do not allow."""
    async with open_mail() as at:
        await at.add_user("anna")
        await at.add_user("ben")
        stored = replace(await at.users.read(at.tenant, UserId("anna")), email="anna@[x")
        rows = DynamoUserStore(at.client, at.ring, at.user_keys)
        await rows.change(at.tenant, stored.user, ProfileChange(email=stored.email), at.clock.now_ms())
        await at.given("anna", "ben", category="sport")
        state, reason = await at.outcome("anna")
        assert (state, at.stats.failed) == ("failed", 1)
        assert "anna@[x" in reason
        assert await at.outcome("ben") == ("sent", "")


async def test_an_invalid_address_for_replies_is_refused(open_mail: OpenMail) -> None:
    async with open_mail() as at:
        with pytest.raises(TidingsError) as refused:
            await at.mail.set(at.tenant, DEFAULT, MailConfig(reply_to="help@[x"))
        assert refused.value.code is Code.REQUEST_INVALID


async def test_each_user_with_an_address_receives_one_mail_in_their_language(open_mail: OpenMail) -> None:
    async with open_mail() as at:
        for name, locale in (("anna", None), ("ben", "de-AT"), ("cem", None)):
            await at.add_user(name, locale=locale)
        await at.users.create(at.tenant, UserId("dan"))
        templates = (
            MailTemplate(locale="en", subject="{{message.title}}", text="Hi {{name}}\n"),
            MailTemplate(
                locale="de", subject="{{message.title}}!", text="Hallo {{name}}\n", html="<p>{{name}}"
            ),
        )
        await at.mail.set(at.tenant, DEFAULT, MailConfig(sender_name="Shop", templates=templates))
        await at.given("anna", "ben", "cem", "dan", category="sport")
        refs = at.chunks.take()
        assert refs == []
        by_user = {str(mail["To"]).partition("@")[0]: mail for mail in at.smtp.mails}
        assert sorted(by_user) == ["anna", "ben", "cem"]
        assert (by_user["anna"]["Subject"], by_user["ben"]["Subject"]) == ("hello", "hello!")
        assert by_user["anna"]["From"] == "Shop <news@shop.example>"
        german = by_user["ben"].get_body(("html",))
        assert german is not None
        assert german.get_content().strip() == "<p>ben"
        assert await at.outcome("dan") == ("skipped", "no_address")
        assert (at.stats.sent, at.stats.skipped) == (3, 1)


@pytest.mark.parametrize("twice", ["at once", "later"])
async def test_a_repeated_chunk_sends_no_second_mail(open_mail: OpenMail, twice: str) -> None:
    async with open_mail() as at:
        await at.add_user("anna")
        await at.send(["anna"], category="sport")
        [delivery] = at.chunks.take()
        await at.cases.worker.process(delivery)
        [mail] = at.chunks.take()
        assert mail.kind is JobKind.MAIL
        job = await at.cases.job_store.read(at.tenant, mail.job)
        assert job is not None
        at.smtp.delay_s = 0.1
        if twice == "at once":
            await asyncio.gather(*(at.worker.send(job, 0, [UserId("anna")]) for _ in range(3)))
        else:
            for _ in range(3):
                await at.worker.send(job, 0, [UserId("anna")])
        # One that came second starts a later job, which finds the result.
        await at.later(120_000)
        assert len(at.smtp.mails) == 1
        assert await at.outcome("anna") == ("sent", "")


async def test_a_worker_killed_after_sending_repeats_the_same_message_id(open_mail: OpenMail) -> None:
    async with open_mail() as at:
        await at.add_user("anna")

        def kill(name: str) -> None:
            if name == "mail.sent":
                raise Killed

        at.steps.on_step = kill
        await at.send(["anna"], category="sport")
        with pytest.raises(Killed):
            await at.work()
        at.steps.on_step = lambda _: None
        assert (await at.result("anna")).state == "sending"
        await at.later(10_000)
        assert len(at.smtp.mails) == 1, "the claim holds"
        await at.later(120_000)
        await at.later(120_000)
        first, second = at.smtp.ids_for("anna@home.example")
        assert first == second
        assert await at.outcome("anna") == ("sent", "")
        await at.later(600_000)
        assert len(at.smtp.mails) == 2


async def test_a_temporary_refusal_is_tried_later_and_a_permanent_one_is_not(open_mail: OpenMail) -> None:
    async with open_mail() as at:
        for name in ("anna", "ben", "cem"):
            await at.add_user(name)
        answers = {"ben@home.example": "451 4.7.1 greylisted", "cem@home.example": "550 5.1.1 no such user"}
        at.smtp.answer_recipient = answers.get
        await at.given("anna", "ben", "cem", category="sport")
        assert await at.outcome("anna") == ("sent", "")
        assert await at.outcome("ben") == ("deferred", "451 4.7.1 greylisted")
        assert await at.outcome("cem") == ("failed", "550 5.1.1 no such user")
        assert (await at.users.read(at.tenant, UserId("cem"))).email_refused is EmailRefusal.BOUNCE
        tried = len(at.smtp.recipients)
        await at.later(30_000)
        assert len(at.smtp.recipients) == tried, "it waits"
        answers.clear()
        await at.later(60_000)
        assert at.smtp.recipients[tried:] == ["ben@home.example"]
        assert await at.outcome("ben") == ("sent", "")
        await at.given("cem", category="sport")
        assert await at.outcome("cem") == ("skipped", "address_refused")


async def test_a_refused_sender_or_a_stopped_server_delays_all_mails(open_mail: OpenMail) -> None:
    async with open_mail() as at:
        for name in ("anna", "ben"):
            await at.add_user(name)
        at.smtp.answer_sender = lambda _: "550 5.7.1 relaying denied"
        await at.given("anna", "ben", category="sport")
        assert at.smtp.mails == []
        assert at.stats.deferred == 2
        at.smtp.answer_sender = lambda _: None
        assert at.worker.is_down
        # The monotonic clock does not follow the clock of the test.
        at.worker._down_until = 0.0
        await at.later(90_000)
        assert {str(mail["To"]) for mail in at.smtp.mails} == {"anna@home.example", "ben@home.example"}


async def test_a_mail_is_given_up_after_two_days(open_mail: OpenMail) -> None:
    async with open_mail() as at:
        await at.add_user("anna")
        at.smtp.answer_content = lambda _: "452 4.2.2 mailbox full"
        sent = await at.given("anna", category="sport")
        for delay_s in (*RETRY_AFTER_S, 86_400):
            await at.later(delay_s * 1_300)
        assert await at.outcome("anna") == ("failed", "452 4.2.2 mailbox full")
        assert (await at.result("anna")).attempts == len(RETRY_AFTER_S) + 1
        assert sent.total == 1


async def test_preferences_decide_and_critical_notifications_ignore_them(open_mail: OpenMail) -> None:
    async with open_mail() as at:
        await at.add_user("anna")
        await at.cases.preferences.change(at.owner("anna"), {}, {"sport": {Channel.EMAIL: False}})
        await at.given("anna", category="sport")
        assert at.smtp.mails == []
        await at.given("anna", category="weather")
        await at.given("anna", category="sport", is_critical=True)
        plain, critical = at.smtp.mails
        assert plain["List-Unsubscribe"] is not None
        assert plain["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
        assert critical["List-Unsubscribe"] is None, "users cannot switch it off"
        await at.cases.preferences.change(at.owner("anna"), {Channel.INBOX: False}, {})
        await at.given("anna", category="weather")
        assert len(at.smtp.mails) == 3, "mail without the inbox"


async def test_nothing_is_sent_that_was_read_recalled_or_switched_off_meanwhile(open_mail: OpenMail) -> None:
    async with open_mail() as at:
        for name in ("anna", "ben", "cem"):
            await at.add_user(name)
        sent = await at.send(["anna", "ben"], category="sport")
        for ref in at.chunks.take():
            await at.cases.worker.process(ref)
        await at.cases.marker.read_all(at.owner("anna"))
        await at.cases.preferences.change(at.owner("ben"), {Channel.EMAIL: False}, {})
        await at.work()
        assert at.smtp.mails == []
        assert await at.outcome("anna") == ("skipped", "read")
        assert await at.outcome("ben") == ("skipped", "channel_off")
        recalled = await at.send(["cem"], category="sport")
        [delivery] = at.chunks.take()
        await at.cases.worker.process(delivery)
        await at.cases.recall.redact(at.tenant, DEFAULT, recalled.notification)
        await at.work()
        assert await at.outcome("cem") == ("skipped", "recalled")
        assert sent.total == 2


async def test_a_digest_is_one_mail_at_the_end_of_its_window(open_mail: OpenMail) -> None:
    async with open_mail() as at:
        await at.add_user("anna")
        digest = CategorySettings(digest=Digest(window_s=3_600))
        limit = CategorySettings(throttle=Throttle(limit=1, window_s=86_400, excess=Excess.SILENT))
        await at.make_inbox(replace(MAILED, category_settings={"sport": digest, "weather": limit}))
        for name in ("Ben", "Cem", "Dan"):
            await at.given("anna", category="sport", message={"title": f"{name} likes your photo"})
        assert at.smtp.mails == []
        await at.later(3_601_000)
        [mail] = at.smtp.mails
        assert mail["Subject"] == "Dan likes your photo and 2 more"
        for _ in range(2):
            await at.given("anna", category="weather")
        assert len(at.smtp.mails) == 2
        assert await at.outcome("anna") == ("skipped", "throttled")


async def test_a_link_unsubscribes_from_the_category_and_cannot_be_forged(open_mail: OpenMail) -> None:
    async with open_mail() as at:
        await at.add_user("anna")
        await at.given("anna", category="sport")
        link = str(at.smtp.mails[0]["List-Unsubscribe"]).strip("<>")
        address, _, token = link.partition("?token=")
        assert address == "https://api.example/v1/email/unsubscribe"
        for _ in range(2):
            await at.mail.unsubscribe(token)
        chosen = (await at.cases.preferences.read(at.owner("anna"))).choices
        assert chosen.categories == {1: {Channel.EMAIL: False}}
        name = str(at.smtp.mails[0]["Message-ID"]).strip("<>").partition("@")[0]
        for forged in (token[:-2] + "AA", token.partition(".")[0], "", name, "x.y"):
            with pytest.raises(TidingsError) as refused:
                await at.mail.unsubscribe(forged)
            assert refused.value.code is Code.CREDENTIAL_INVALID


async def test_a_bounce_turns_the_address_off_until_it_changes(open_mail: OpenMail) -> None:
    async with open_mail() as at:
        await at.add_user("anna")
        await at.given("anna", category="sport")
        message_id = str(at.smtp.mails[0]["Message-ID"])
        for _ in range(2):
            assert await at.mail.refuse(at.tenant, message_id, EmailRefusal.COMPLAINT) == "anna"
        user = await at.users.read(at.tenant, UserId("anna"))
        assert (user.email, user.email_refused) == ("anna@home.example", EmailRefusal.COMPLAINT)
        await at.given("anna", category="sport")
        assert await at.outcome("anna") == ("skipped", "address_refused")
        await at.users.update(at.tenant, UserId("anna"), ProfileChange(email="new@home.example"))
        await at.mail.refuse(at.tenant, message_id, EmailRefusal.BOUNCE)
        assert (await at.users.read(at.tenant, UserId("anna"))).email_refused is None, (
            "it is for the old address"
        )
        await at.given("anna", category="sport")
        assert str(at.smtp.mails[-1]["To"]) == "new@home.example"
        with pytest.raises(TidingsError) as refused:
            await at.mail.refuse(at.tenant, "<other@shop.example>", EmailRefusal.BOUNCE)
        assert refused.value.code is Code.NOTIFICATION_NOT_FOUND
