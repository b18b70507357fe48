"""Check e-mail: whether the mail server accepts a connection and the password."""

import asyncio
from collections.abc import Iterator

from tidings.app.wiring.mail import mail_options, smtp_options
from tidings.doctor.model import CheckState, DoctorContext, Finding, ok, skipped
from tidings.inboxes.store.smtp import SmtpOptions, SmtpTransport
from tidings.kernel.clock import Clock


def check_mail(context: DoctorContext) -> Iterator[Finding]:
    settings = context.loaded.settings
    try:
        options, _ = smtp_options(settings), mail_options(settings)
    except ValueError as error:
        yield Finding(
            "mail",
            CheckState.WRONG,
            str(error),
            "`tidings run notifications` does not start with these settings.",
            "Set `mail.smtp_url`, `mail.sender` and `mail.public_url`, or none of them.",
        )
        return
    if options is None:
        yield skipped("mail", "needs mail.smtp_url")
        return
    yield asyncio.run(_probe(options, context.clock))


async def _probe(options: SmtpOptions, clock: Clock) -> Finding:
    answer = await SmtpTransport(options, clock).probe()
    where = f"{options.host}:{options.port}"
    if answer.is_accepted:
        return ok("mail", f"the mail server at {where} answers")
    return Finding(
        "mail",
        CheckState.WRONG,
        f"the mail server at {where} refuses: {f'{answer.code} {answer.text}' if answer.code else answer.text}",
        "Mails wait, and are given up after two days.",
        "Check `mail.smtp_url`: host, port, user and password, and that the network allows the connection.",
    )
