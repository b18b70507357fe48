"""Each fault of a connection, as botocore sees it, compared with the data in the engine."""

import http.client
import json
import time
import zlib

import pytest
from botocore.exceptions import ChecksumError, ConnectionClosedError, HTTPClientError
from types_boto3_dynamodb import DynamoDBClient

from faults.clients import Table, dynamodb, put
from faults.proxy import (
    CloseIdle,
    DropAnswer,
    DropRequest,
    DynamoProxy,
    Garbage,
    HalfAnswer,
    Hold,
    Match,
    Part,
    SlowBytes,
    Spoilt,
    Times,
)
from faults.raw_client import RawClient, ask, request
from faults.scripted_engine import OK, ScriptedEngine

PUTS = Match(operations={"PutItem"})


@pytest.mark.parametrize("reset", [False, True])
def test_an_item_is_stored_although_its_answer_was_dropped(
    proxy: DynamoProxy, client: DynamoDBClient, table: Table, *, reset: bool
) -> None:
    with proxy.fault(DropAnswer(reset=reset), on=PUTS, dose=Times(1)) as fault:
        with pytest.raises(ConnectionClosedError):
            put(client, table, "a")
        assert table.keys() == {"a"}
        put(client, table, "b")
    assert fault.hits == 1
    assert [call.applied for call in proxy.calls] == [True, True]
    assert [call.faults for call in proxy.calls] == [(DropAnswer(reset=reset),), ()]


@pytest.mark.parametrize("reset", [False, True])
def test_an_item_is_not_stored_if_its_request_was_dropped(
    proxy: DynamoProxy, client: DynamoDBClient, table: Table, *, reset: bool
) -> None:
    with proxy.fault(DropRequest(reset=reset), on=PUTS, dose=Times(1)) as fault:
        with pytest.raises(ConnectionClosedError):
            put(client, table, "a")
        assert table.keys() == set()
        put(client, table, "b")
    assert fault.hits == 1
    assert table.keys() == {"b"}
    assert [call.applied for call in proxy.calls] == [False, True]


@pytest.mark.parametrize("part", Part)
def test_an_item_is_stored_although_its_answer_was_cut_off(
    proxy: DynamoProxy, table: Table, part: Part
) -> None:
    """Does not use botocore, which accepts a 200 whose body ends early as a complete answer."""
    body = {"TableName": table.name, "Item": {"pk": {"S": "a"}}}
    with proxy.fault(HalfAnswer(part), on=PUTS, dose=Times(1)), pytest.raises(http.client.IncompleteRead):
        ask(proxy.port, "PutItem", body)
    assert table.keys() == {"a"}


@pytest.mark.parametrize("reset", [False, True])
def test_a_dropped_answer_ends_without_a_byte_in_fin_or_rst(scripted: ScriptedEngine, *, reset: bool) -> None:
    with DynamoProxy(scripted.url) as proxy, RawClient(proxy.port) as client:
        proxy.fault(DropAnswer(reset=reset))
        assert client.ask() == (b"", ConnectionResetError if reset else None)
    assert len(scripted.received) == 1


@pytest.mark.parametrize("reset", [False, True])
def test_a_dropped_request_ends_in_fin_or_rst_and_never_arrives(
    scripted: ScriptedEngine, *, reset: bool
) -> None:
    with DynamoProxy(scripted.url) as proxy, RawClient(proxy.port) as client:
        proxy.fault(DropRequest(reset=reset))
        assert client.ask() == (b"", ConnectionResetError if reset else None)
    assert scripted.received == []


@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize(("part", "sent"), [(Part.HEADERS, OK[:-2]), (Part.HALF_BODY, OK[:-1])])
def test_half_an_answer_is_exactly_its_headers_or_half_its_body(
    scripted: ScriptedEngine, part: Part, sent: bytes, *, reset: bool
) -> None:
    with DynamoProxy(scripted.url) as proxy, RawClient(proxy.port) as client:
        proxy.fault(HalfAnswer(part, reset=reset))
        assert client.ask() == (sent, ConnectionResetError if reset else None)


def test_a_dribbled_answer_is_whole_and_slow(
    proxy: DynamoProxy, client: DynamoDBClient, table: Table
) -> None:
    put(client, table, "a", "text")
    reads = Match(operations={"GetItem"})
    with proxy.fault(SlowBytes(piece_bytes=50, pause_s=0.02), on=reads, dose=Times(1)):
        started = time.monotonic()
        found = client.get_item(TableName=table.name, Key={"pk": {"S": "a"}})
    assert found["Item"]["value"] == {"S": "text"}
    assert time.monotonic() - started > 4 * 0.02, (
        "headers and body are more than 200 bytes, so 4 pauses or more"
    )


def test_a_dribbled_answer_comes_in_pieces(scripted: ScriptedEngine) -> None:
    with DynamoProxy(scripted.url) as proxy, RawClient(proxy.port) as client:
        proxy.fault(SlowBytes(piece_bytes=len(OK) - 1, pause_s=3600))
        client.send(request())
        assert client.read(len(OK) - 1) == OK[:-1]
        proxy.wait_until(lambda: proxy.calls[0].applied is True)
        assert client.is_silent()


def test_an_answer_that_is_not_http_breaks_the_client(
    proxy: DynamoProxy, client: DynamoDBClient, table: Table
) -> None:
    with proxy.fault(Garbage(Spoilt.HTTP), on=PUTS, dose=Times(1)), pytest.raises(HTTPClientError):
        put(client, table, "a")
    assert table.keys() == {"a"}


def test_an_answer_that_is_not_utf8_breaks_the_client(
    proxy: DynamoProxy, client: DynamoDBClient, table: Table
) -> None:
    with proxy.fault(Garbage(Spoilt.UTF8), on=PUTS, dose=Times(1)), pytest.raises(UnicodeDecodeError):
        put(client, table, "a")
    assert table.keys() == {"a"}


def test_an_answer_that_is_not_json_has_status_200_and_a_right_checksum(
    proxy: DynamoProxy, table: Table
) -> None:
    body = {"TableName": table.name, "Item": {"pk": {"S": "a"}}}
    with proxy.fault(Garbage(Spoilt.JSON), on=PUTS, dose=Times(1)):
        status, headers, raw = ask(proxy.port, "PutItem", body)
    assert status == 200
    assert headers["x-amz-crc32"] == str(zlib.crc32(raw))
    with pytest.raises(json.JSONDecodeError):
        json.loads(raw)
    assert table.keys() == {"a"}


def test_an_answer_with_a_wrong_checksum_is_otherwise_whole(
    proxy: DynamoProxy, client: DynamoDBClient, table: Table
) -> None:
    """botocore verifies the checksum only in its retry mode `legacy`, not in the default `standard`."""
    checking = dynamodb(proxy.url, retries={"mode": "legacy", "max_attempts": 1})
    with proxy.fault(Garbage(Spoilt.CRC32), on=PUTS) as fault:
        put(client, table, "a")
        with pytest.raises(ChecksumError):
            put(checking, table, "b")
    assert fault.hits == 3, "the client that verifies the checksum tries twice"
    assert table.keys() == {"a", "b"}


@pytest.mark.parametrize("reset", [False, True])
def test_a_connection_is_closed_under_a_client_that_has_its_answer(
    scripted: ScriptedEngine, *, reset: bool
) -> None:
    with DynamoProxy(scripted.url) as proxy, RawClient(proxy.port) as client:
        proxy.fault(CloseIdle(reset=reset))
        assert client.ask() == (OK, ConnectionResetError if reset else None)


def test_a_client_whose_kept_connection_was_closed_opens_another(
    proxy: DynamoProxy, client: DynamoDBClient, table: Table
) -> None:
    put(client, table, "a")
    assert proxy.close_idle() == 1
    put(client, table, "b")
    assert proxy.close_idle() == 1
    assert table.keys() == {"a", "b"}


@pytest.mark.parametrize("reset", [False, True])
def test_all_idle_connections_are_closed_at_once_and_busy_ones_stay(
    scripted: ScriptedEngine, *, reset: bool
) -> None:
    with (
        DynamoProxy(scripted.url) as proxy,
        RawClient(proxy.port) as idle,
        RawClient(proxy.port) as busy,
    ):
        idle.send(request())
        assert idle.read(len(OK)) == OK
        with proxy.fault(Hold()) as fault:
            busy.send(request())
            fault.wait_held()
            assert proxy.close_idle(reset=reset) == 1
            assert idle.read_to_end() == (b"", ConnectionResetError if reset else None)
        assert busy.read(len(OK)) == OK
