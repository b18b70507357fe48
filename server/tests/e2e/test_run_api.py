"""`tidings run api`: it serves, drains, restarts after a kill, and rejects settings that it cannot use."""

import re
import signal
import socket
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

import psutil
import pytest
from contract.telemetry.running import eventually
from e2e.conftest import Api, Start, answer
from fixtures.engines import Namespace

from tidings.engines.local_cluster import LocalCluster
from tidings.engines.model import Engine, StartRequest

CHATS = "/v1/chats"
BODY = b'{"type": "direct", "user": "ben"}'


def half(api: Api) -> bytes:
    """Return the first half of a request."""
    return api.head("POST", CHATS, BODY) + BODY[:5]


def is_well(api: Api) -> bool:
    return api.ask("POST", CHATS, {"type": "direct", "user": "ben"}).status == HTTPStatus.OK


def unread_of(api: Api, user: str) -> Any:
    """Return a chat with unread messages. Delivery writes its row after the sender has received the answer."""
    chats = api.ask("GET", "/v1/chats", user=user).body.get("chats", ())  # none if rate limited
    return next((chat for chat in chats if chat["unread"]), None)


def refused(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) != 0


def _well(api: Api) -> set[str]:
    ready = api.wait_for_status("/readyz", 200)
    return {name for name, part in ready["components"].items() if part["ok"]}


def test_it_serves_and_reports_that_it_is_healthy(start: Start) -> None:
    api = start()
    start(kind="delivery")
    made = api.ask("POST", CHATS, {"type": "direct", "user": "ben"})
    assert made.status == 200
    sent = api.ask("POST", f"/v1/chats/{made.body['id']}/messages", {"text": "hi", "client_message_id": "k1"})
    assert (sent.status, sent.body["sequence"]) == (201, 2)
    listed = eventually(lambda: unread_of(api, "ben"), "line in the chat list of ben")
    assert (listed["id"], listed["unread"], listed["last"]["text"]) == (made.body["id"], 1, "hi")
    assert api.ask("GET", "/v1/nothing-there").status == 404
    wanted = {"tables", "dynamo_client", "dynamo", "redis", "kms", "keys", "accounts", "publisher", "http"}
    eventually(lambda: wanted <= _well(api), "part that is well, which all of them are soon")
    page = api.get("/metrics")[1]
    assert 'tidings_dynamo_calls_total{operation="GetItem",pattern="leases.probe",table="leases"}' in page
    assert "tidings_http_in_flight 0.0" in page
    operation = 'operation="POST /v1/chats/{chat}/messages"'
    assert f'tidings_http_requests_total{{{operation},outcome="ok"}} 1.0' in page
    assert f"tidings_http_request_seconds_count{{{operation}}} 1.0" in page
    assert 'tidings_http_requests_total{operation="other",outcome="refused"} 1.0' in page
    assert 'tidings_http_statuses_total{status="404"} 1.0' in page
    assert 'tidings_rate_limit_decisions_total{outcome="allowed"}' in page


def test_an_untrusted_proxy_is_reported_once(start: Start) -> None:
    api, decided = start(), start(TIDINGS_API_TRUSTED_PROXIES="none")
    for process in (api, api, decided):
        head = process.head("GET", "/v1/blocks")
        with process.connect() as client:
            client.sendall(head.replace(b"Host: test", b"Host: test\r\nX-Forwarded-For: 203.0.113.9"))
            assert answer(client).status == 200
    (line,) = eventually(lambda: _proxies_reported(api), "warning")
    assert line["event"].startswith("127.0.0.1 forwards requests")
    assert _proxies_reported(decided) == []


def _proxies_reported(api: Api) -> list[Any]:
    return [line for line in api.lines if "api.trusted_proxies" in line["event"]]


def test_a_login_by_phone_logs_no_code_and_no_token(start: Start, space: Namespace) -> None:
    api = start(TIDINGS_LIMITS_CODE_NUMBER_RATE="1/d", TIDINGS_LIMITS_CODE_NUMBER_BURST="1")
    phone_login = {"tenant": space.tenant, "phone": "+4915112345678"}
    asked = api.ask("POST", "/v1/login/phone", phone_login)
    assert asked.status == 202
    limited = api.ask("POST", "/v1/login/phone", phone_login)
    assert (limited.status, limited.body["code"]) == (429, "rate_limited")
    code = eventually(lambda: re.search(r"SMS to \+4915112345678: (\d{6})", api.stderr), "text message")[1]
    answer = {**phone_login, "challenge": asked.body["challenge"], "code": code, "device": {"id": "phone-1"}}
    login = api.ask("POST", "/v1/login/phone/redeem", answer)
    assert login.status == 200, login.body
    token = login.body["tokens"]["access_token"]
    assert api.ask("GET", "/v1/chats", bearer=token).status == 200
    assert api.ask("GET", "/v1/chats", bearer=token[:-8] + "AAAAAAAA").status == 401
    no_key = f"tidings_sk.{space.tenant}.{'0' * 26}.{'x' * 43}"
    assert api.ask("GET", "/v1/chats", bearer=no_key).status == 401
    refused = eventually(lambda: _refusals(api)[1:] or None, "second refusal in the security log")[0]
    assert (refused["address"], refused["source"]) == ("127.0.0.1", "tidings.security")
    assert "has no API key" in refused["reason"]
    assert "x" * 43 not in str(api.lines)
    assert code not in str(api.lines)
    assert token not in str(api.lines)


def _refusals(api: Api) -> list[Any]:
    return [line for line in api.lines if line["event"] == "credential_rejected"]


def test_a_stopping_process_answers_requests_in_flight_and_accepts_no_more(start: Start) -> None:
    api = start()
    port = api.api_port
    with api.connect() as idle, api.connect() as slow:
        idle.sendall(api.head("POST", CHATS, BODY) + BODY)
        assert answer(idle).status == 200
        slow.sendall(half(api))
        assert is_well(api), "the server has seen what was sent before"
        api.popen.terminate()
        api.wait_for("no longer accepting", in_flight=1)
        eventually(lambda: refused(port) or None, "refused connection")
        assert idle.recv(1) == b"", "idle connections are closed at once"
        slow.sendall(BODY[5:])
        assert answer(slow).status == 200
    assert api.exit_code() == 0
    assert api.lines[-1]["event"] == "process stopped"


def test_an_endless_request_is_closed_at_the_stop_deadline(start: Start) -> None:
    api = start(TIDINGS_PROCESS_STOP_S="3")
    with api.connect() as stuck:
        stuck.sendall(half(api))
        assert is_well(api)
        api.popen.terminate()
        assert api.exit_code() in {0, 75}


def test_after_a_kill_it_starts_again_on_the_same_port(start: Start) -> None:
    first = start()
    port = first.api_port
    with first.connect() as client:
        client.sendall(half(first))
        first.popen.kill()
        assert first.exit_code() == -signal.SIGKILL
    second = start(TIDINGS_API_PORT=str(port))
    assert second.api_port == port
    assert is_well(second)


def test_several_api_processes_share_a_port_and_stop_together(start: Start) -> None:
    several = start("--processes", "2")
    eventually(lambda: len(several.events("process started")) == 2 or None, "two processes")
    ports = {line["port"] for line in several.events("listening")}
    assert len(ports) == 1
    assert len({line["instance"] for line in several.events("listening")}) == 2
    assert all(is_well(several) for _ in range(10))
    several.popen.terminate()
    assert several.exit_code() == 0
    assert len(several.events("process stopped")) == 2


def test_if_one_of_several_processes_dies_the_others_stop_and_its_exit_code_is_returned(start: Start) -> None:
    several = start("--processes", "2")
    eventually(lambda: len(several.events("process started")) == 2 or None, "two processes")
    one = psutil.Process(several.popen.pid).children()[0]
    one.kill()
    assert several.exit_code() == 128 + signal.SIGKILL
    assert len(several.events("process stopped")) == 1


def test_if_the_parent_is_killed_its_processes_stop_gracefully(start: Start) -> None:
    several = start("--processes", "2")
    eventually(lambda: len(several.events("process started")) == 2 or None, "two processes")
    children = psutil.Process(several.popen.pid).children()
    try:
        several.popen.kill()
        gone, alive = psutil.wait_procs(children, timeout=60)
        assert (len(gone), alive) == (2, [])
        eventually(lambda: len(several.events("process stopped")) == 2 or None, "both stopped in order")
    finally:
        for child in children:
            if child.is_running():
                child.kill()


def test_invalid_settings_exit_with_2_and_are_all_reported(start: Start) -> None:
    api = start(
        TIDINGS_API_CURSOR_SECRET="short",
        TIDINGS_REDIS_URL="http://wrong",
        TIDINGS_API_TRUSTED_PROXIES="10.0.0.0/8,nonsense",
    )
    assert api.exit_code() == 2
    for fault in ("redis.url:", "api.cursor_secret:", "api.trusted_proxies:"):
        assert fault in api.stderr
    unknown = start(TIDINGS_API_PROT="1", TIDINGS_LIMITS_USER_RATE="many")
    assert unknown.exit_code() == 2
    assert "did you mean TIDINGS_API_PORT?" in unknown.stderr
    assert "TIDINGS_LIMITS_USER_RATE" in unknown.stderr


def test_without_tables_it_does_not_start_and_names_the_command_to_create_them(
    start: Start, space: Namespace
) -> None:
    api = start(TIDINGS_DYNAMO_TABLE_PREFIX=space.table_prefix)
    assert api.exit_code() == 1
    (line,) = api.events("component did not start")
    assert line["component"] == "tables"
    assert "run `tidings tables apply`" in line["reason"]
    assert api.events("listening") == []


def test_a_port_in_use_is_a_failed_start(start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        api = start(TIDINGS_API_PORT=str(taken.getsockname()[1]))
        assert api.exit_code() == 1
        (line,) = api.events("component did not start")
        assert line["component"] == "http"
        assert "Address already in use" in line["reason"]
        assert "TIDINGS_API_PORT" in line["reason"]


def test_without_redis_it_serves_and_enforces_the_limit(
    start: Start, own_fleet: Callable[[StartRequest], LocalCluster]
) -> None:
    fleet = own_fleet(StartRequest(engines=frozenset({Engine.VALKEY})))
    node = fleet.status()[0].node
    api = start(
        TIDINGS_REDIS_URL=f"redis://{node.address}",
        TIDINGS_LIMITS_USER_RATE="1/h",
        TIDINGS_LIMITS_USER_BURST="3",
    )
    asked = [api.ask("GET", "/v1/blocks", user="ben") for _ in range(4)]
    assert [each.status for each in asked] == [200, 200, 200, 429]
    assert asked[0].headers["RateLimit"].startswith('"user";r=2;t=')
    assert 3_590 < int(asked[3].headers["Retry-After"]) <= 3_601
    fleet.kill(node.name)
    report = eventually(
        lambda: (body := api.get("/readyz")[1]) and (None if body["components"]["redis"]["ok"] else body),
        "report of the loss",
    )
    assert report["ready"], "Redis is an accelerator: it gates nothing"
    statuses = [api.ask("GET", "/v1/blocks", user="cleo").status for _ in range(5)]
    assert statuses == [200, 200, 200, 429, 429]
    fleet.restart(node.name)
    eventually(lambda: api.get("/readyz")[1]["components"]["redis"]["ok"] or None, "return of Redis")
    lines = [
        line["event"] for line in api.lines if line["event"].startswith("rate limits: Redis is unavailable")
    ]
    assert len(lines) == 1


@pytest.mark.parametrize("engine", [Engine.VALKEY, Engine.DYNAMO])
def test_it_waits_for_an_engine_that_is_unavailable_at_the_start(start: Start, engine: Engine) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    place = {
        Engine.VALKEY: {"TIDINGS_REDIS_URL": f"redis://127.0.0.1:{port}"},
        Engine.DYNAMO: {"TIDINGS_DYNAMO_ENDPOINT": f"http://127.0.0.1:{port}"},
    }
    api = start(**place[engine])
    assert api.ask("GET", "/v1/nothing-there").status == 404
    ready = api.wait_for_status("/readyz", 200 if engine is Engine.VALKEY else 503)
    ailing = "redis" if engine is Engine.VALKEY else "tables"
    assert not ready["components"][ailing]["ok"]
