"""The proxy must not be what a load test measures."""

from concurrent.futures import ThreadPoolExecutor

from faults.proxy import DynamoProxy
from faults.raw_client import RawClient, request
from faults.scripted_engine import OK, ScriptedEngine

CONNECTIONS = 8
CALLS_EACH = 400
PUT = request(
    body={
        "TableName": "messages",
        "Item": {"chat_id": {"S": "acme#chat"}, "sequence": {"N": "12"}, "text": {"S": "x" * 200}},
        "ConditionExpression": "attribute_not_exists(chat_id)",
    }
)


def test_one_core_passes_3000_puts_a_second(scripted: ScriptedEngine) -> None:
    """In CPU time of the proxy's own thread: other load on the machine, and this test's, do not count."""

    def send(port: int) -> None:
        with RawClient(port) as client:
            for _ in range(CALLS_EACH):
                client.send(PUT)
                assert client.read(len(OK)) == OK

    with DynamoProxy(scripted.url) as proxy, ThreadPoolExecutor(CONNECTIONS) as pool:
        before_s = proxy.cpu_s()
        list(pool.map(send, [proxy.port] * CONNECTIONS))
        each_us = (proxy.cpu_s() - before_s) / (CONNECTIONS * CALLS_EACH) * 1e6
    assert each_us < 333, f"{each_us:.0f} µs of CPU a call is less than 3,000 calls a second"
