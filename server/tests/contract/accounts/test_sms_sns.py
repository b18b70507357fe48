"""Requests to Amazon SNS match the service model of botocore. AWS itself is not called."""

import asyncio
import traceback
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs

import botocore.session
import pytest
from botocore.stub import Stubber
from fixtures.use_cases import code_of

from tidings.accounts.model import Phone
from tidings.accounts.sns import SnsSms, sns_client
from tidings.kernel.errors import Code, TidingsError

TO, TEXT = Phone("+4915112345678"), "123456 is your code"
REPLY = (
    b'<PublishResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><PublishResult>'
    b"<MessageId>m</MessageId></PublishResult></PublishResponse>"
)
TYPE = {"AWS.SNS.SMS.SMSType": {"DataType": "String", "StringValue": "Transactional"}}
SENDER = {"AWS.SNS.SMS.SenderID": {"DataType": "String", "StringValue": "Tidings"}}


def stubbed() -> tuple[Any, Stubber]:
    client = botocore.session.Session().create_client(
        "sns", region_name="eu-central-1", aws_access_key_id="a", aws_secret_access_key="s"
    )
    return client, Stubber(client)


@pytest.mark.parametrize(("sender_id", "attributes"), [(None, TYPE), ("Tidings", TYPE | SENDER)])
async def test_a_message_matches_the_service_model(
    sender_id: str | None, attributes: dict[str, object]
) -> None:
    client, stub = stubbed()
    wanted = {"PhoneNumber": TO, "Message": TEXT, "MessageAttributes": attributes}
    stub.add_response("publish", {"MessageId": "m"}, wanted)
    with stub:
        await SnsSms(client.publish, sender_id).send(TO, TEXT)
    stub.assert_no_pending_responses()


async def test_an_error_of_the_service_is_reported_without_the_message() -> None:
    client, stub = stubbed()
    stub.add_client_error("publish", "Throttled", f"Rate exceeded for {TO}", 429)
    with stub, pytest.raises(TidingsError) as caught:
        await SnsSms(client.publish).send(TO, TEXT)
    assert caught.value.code is Code.OVERLOADED
    assert "123456" not in caught.value.message
    assert TO not in "".join(traceback.format_exception(caught.value)), "nor in what is logged of it"


class _Sns(BaseHTTPRequestHandler):
    requests: list[tuple[str, dict[str, list[str]]]]
    status = 200

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        self.requests.append((str(self.headers["authorization"]), parse_qs(body)))
        self.send_response(self.status)
        self.send_header("content-length", str(len(REPLY)))
        self.end_headers()
        self.wfile.write(REPLY)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def sns(monkeypatch: pytest.MonkeyPatch) -> Iterator[HTTPServer]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    _Sns.requests, _Sns.status = [], 200
    server = HTTPServer(("127.0.0.1", 0), _Sns)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


async def test_a_request_is_signed_and_has_the_expected_form_fields(sns: HTTPServer) -> None:
    client = await asyncio.to_thread(sns_client, "eu-central-1", f"http://127.0.0.1:{sns.server_port}")
    await SnsSms(client.publish, "Tidings").send(TO, TEXT)
    ((authorization, form),) = _Sns.requests
    assert "/eu-central-1/sns/aws4_request" in authorization
    assert form["Action"] == ["Publish"]
    assert form["PhoneNumber"] == [TO]
    assert form["Message"] == [TEXT]
    assert form["MessageAttributes.entry.1.Name"] == ["AWS.SNS.SMS.SMSType"]
    assert form["MessageAttributes.entry.1.Value.StringValue"] == ["Transactional"]
    assert "TopicArn" not in form
    client.close()


async def test_a_failing_service_is_called_at_most_twice(sns: HTTPServer) -> None:
    _Sns.status = 500
    client = await asyncio.to_thread(sns_client, "eu-central-1", f"http://127.0.0.1:{sns.server_port}")
    assert await code_of(SnsSms(client.publish).send(TO, TEXT)) is Code.OVERLOADED
    assert len(_Sns.requests) == 2
    client.close()
