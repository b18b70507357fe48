"""Every address that the schemas accept can be written to."""

from email import message_from_bytes, policy
from email.message import EmailMessage
from email.utils import parseaddr

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from tidings.accounts.rules import check_email
from tidings.api.schemas.accounts import CreateUserBody
from tidings.api.schemas.mail import MailConfigBody
from tidings.inboxes.mail.model import NO_CONFIG, MailConfig
from tidings.inboxes.mail.rendering import MailEnvelope, MailFields, compose, render
from tidings.kernel.errors import TidingsError
from tidings.kernel.mail_addresses import parse_mail_address

SENDER = "news@shop.example"
LOCAL_PARTS = st.from_regex(r"\A[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}\Z") | st.text(
    ".a", min_size=1, max_size=9
)
DOMAINS = st.from_regex(r"\A[A-Za-z0-9-]{1,63}(\.[A-Za-z0-9-]{1,63}){0,3}\Z") | st.just("x.example")
ADDRESSES = st.builds("{}@{}".format, LOCAL_PARTS, DOMAINS)


def mail_to(recipient: str, config: MailConfig = NO_CONFIG) -> EmailMessage:
    envelope = MailEnvelope(SENDER, parse_mail_address(recipient), "<id@shop.example>", 0)
    body = compose(render(None, MailFields({"title": "t"}), None), envelope, config, None)
    return message_from_bytes(body, EmailMessage, policy=policy.default)


@given(address=ADDRESSES)
@example(address="anna..b@docomo.ne.jp")
@example(address=".a@x.example")
@example(address="a.@x.example")
@example(address="...@x.example")
def test_a_mail_is_composed_for_every_address_that_is_accepted(address: str) -> None:
    try:
        body = CreateUserBody.model_validate({"id": "anna", "email": address})
    except ValidationError:
        return
    assert body.email is not None
    assert check_email(body.email) == address
    config = MailConfigBody.model_validate({"reply_to": address}).to_config()
    mail = mail_to(address, config)
    for header in ("To", "Reply-To"):
        (shown,) = mail[header].addresses
        assert (shown.username, shown.domain) == tuple(address.rsplit("@", 1))
        assert mail[header].defects == ()


@given(name=st.text(max_size=128))
def test_a_mail_is_composed_with_every_sender_name_that_is_accepted(name: str) -> None:
    try:
        config = MailConfigBody.model_validate({"sender_name": name}).to_config()
    except ValidationError:
        return
    assert mail_to("anna@home.example", config)["From"].addresses[0].addr_spec == SENDER


@pytest.mark.parametrize(
    ("address", "spec"),
    [
        ("anna@home.example", "anna@home.example"),
        ("a..b@home.example", '"a..b"@home.example'),
        (".a@home.example", '".a"@home.example'),
        ("a.@home.example", '"a."@home.example'),
    ],
)
def test_a_local_part_with_misplaced_dots_is_quoted(address: str, spec: str) -> None:
    assert parse_mail_address(address).spec == spec
    assert parseaddr(spec) == ("", spec)


@pytest.mark.parametrize(
    "address", ["", "a", "@x", "a@", "a@-", "a@x..y", "a b@x", '"a b"@x', "a@x\n", "ä@x", "a@é"]
)
def test_other_texts_are_no_addresses(address: str) -> None:
    with pytest.raises(ValueError, match="form"):
        parse_mail_address(address)
    with pytest.raises(TidingsError):
        check_email(address)
