"""The doctor connects to the mail server."""

from contract.doctor.conftest import Examine, only, states
from e2e.test_run_mail import smtp_thread

from tidings.doctor.model import CheckState

COMPLETE = {"MAIL_SENDER": "news@shop.example", "MAIL_PUBLIC_URL": "https://api.shop.example"}


def test_a_mail_server_that_answers_or_not(examine: Examine) -> None:
    assert states(examine("mail")) == {"mail": CheckState.SKIPPED}
    with smtp_thread() as smtp:
        assert states(examine("mail", MAIL_SMTP_URL=smtp.url, **COMPLETE)) == {"mail": CheckState.OK}
        # A password is never sent unencrypted.
        refused = examine("mail", MAIL_SMTP_URL=f"smtp://me:secret@127.0.0.1:{smtp.port}", **COMPLETE)
        assert "secret" not in only(refused, "mail", CheckState.WRONG).found
    stopped = examine("mail", MAIL_SMTP_URL=smtp.url, **COMPLETE)
    assert str(smtp.port) in only(stopped, "mail", CheckState.WRONG).found


def test_settings_that_are_incomplete_or_invalid(examine: Examine) -> None:
    missing = examine("mail", MAIL_SMTP_URL="smtp://mail.example")
    assert "mail.sender" in only(missing, "mail", CheckState.WRONG).found
    wrong = examine("mail", MAIL_SMTP_URL="http://me:secret@mail.example", **COMPLETE)
    found = only(wrong, "mail", CheckState.WRONG).found
    assert "mail.smtp_url" in found
    assert "secret" not in found
