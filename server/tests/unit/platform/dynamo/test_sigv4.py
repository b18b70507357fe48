"""Our signatures are botocore's: ten thousand generated requests, and the days and seconds between them."""

import datetime as dt
import random
import string
from dataclasses import dataclass, field
from email.message import Message
from email.parser import BytesParser

import botocore.auth
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from tidings.kernel.security import Secret
from tidings.platform.dynamo.credentials import AwsKeys, Signer

REQUESTS = 10_000
SERVICE = "dynamodb"
OPERATIONS = ("PutItem", "GetItem", "Query", "TransactWriteItems", "BatchGetItem")


@dataclass
class Clock:
    """The clock of both signers: passed to Tidings' signer, patched into botocore."""

    now_s: float

    def __call__(self) -> float:
        return self.now_s

    def datetime(self, **_: object) -> dt.datetime:
        return dt.datetime.fromtimestamp(self.now_s, dt.UTC)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock(1_789_000_000.9)
    monkeypatch.setattr(botocore.auth, "get_current_datetime", clock.datetime)
    return clock


def parsed(request: bytes) -> tuple[Message, bytes]:
    head, _, body = request.partition(b"\r\n\r\n")
    line, _, headers = head.partition(b"\r\n")
    assert line == b"POST / HTTP/1.1"
    return BytesParser().parsebytes(headers), body


def by_botocore(url: str, region: str, keys: AwsKeys, target: str, body: bytes) -> AWSRequest:
    headers = {"X-Amz-Target": target, "Content-Type": "application/x-amz-json-1.0"}
    request = AWSRequest("POST", url, data=body, headers=headers)
    token = keys.token.reveal() if keys.token else None
    SigV4Auth(Credentials(keys.access_key, keys.secret_key.reveal(), token), SERVICE, region).add_auth(
        request
    )
    return request


@dataclass
class Compared:
    """A signer of Tidings and one of botocore with the same keys."""

    clock: Clock
    host: str = "host"
    region: str = "us-east-1"
    keys: AwsKeys = field(default_factory=lambda: AwsKeys("key", Secret("secret")))

    def __post_init__(self) -> None:
        self.signer = Signer(self.host, self.region, SERVICE, self.keys, self.clock)

    def check(self, target: str = "T.GetItem", body: bytes = b"{}") -> None:
        headers, sent = parsed(self.signer.request(target, body))
        expected = by_botocore(f"https://{self.host}/", self.region, self.keys, target, body)
        assert headers["authorization"] == expected.headers["Authorization"]
        assert headers["x-amz-date"] == expected.headers["X-Amz-Date"]
        assert headers["x-amz-security-token"] == expected.headers.get("X-Amz-Security-Token")
        assert headers["host"] == self.host
        assert (sent, headers["content-length"]) == (body, str(len(body)))


class Drawn:
    """Random requests, keys and regions, the same in every run."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def text(self, alphabet: str, shortest: int, longest: int) -> str:
        return "".join(self._random.choices(alphabet, k=self._random.randint(shortest, longest)))

    def keys(self) -> AwsKeys:
        token = (
            Secret(self.text(string.ascii_letters + "+/=", 20, 400)) if self._random.random() < 0.5 else None
        )
        secret = Secret(self.text(string.ascii_letters + string.digits + "+/=", 1, 60))
        return AwsKeys(self.text(string.ascii_uppercase + string.digits, 3, 24), secret, token)

    def host(self) -> str:
        port = f":{self._random.randint(1024, 65535)}" if self._random.random() < 0.3 else ""
        return f"{self.text(string.ascii_lowercase, 1, 12)}.{self.text(string.ascii_lowercase, 2, 9)}{port}"

    def region(self) -> str:
        return f"{self.text(string.ascii_lowercase, 2, 2)}-{self.text(string.ascii_lowercase, 4, 9)}-1"

    def body(self) -> bytes:
        return self._random.randbytes(self._random.choice((0, 1, 55, 56, 63, 64, 65, 700, 5000)))

    def target(self) -> str:
        return f"DynamoDB_20120810.{self._random.choice(OPERATIONS)}"

    def pause_s(self) -> float:
        return self._random.choice((0, 0.1, 1, 61, 3600, 86_400, 86_400 * 40))


def test_ten_thousand_generated_requests_are_signed_as_botocore_signs_them(clock: Clock) -> None:
    drawn = Drawn(seed=20120810)
    for _ in range(REQUESTS // 50):
        compared = Compared(clock, drawn.host(), drawn.region(), drawn.keys())
        for _ in range(50):
            clock.now_s += drawn.pause_s()
            compared.check(drawn.target(), drawn.body())


def test_a_signature_of_one_second_is_not_reused_in_the_next(clock: Clock) -> None:
    signer = Compared(clock).signer
    first = signer.request("T.PutItem", b"{}")
    clock.now_s += 0.05
    assert signer.request("T.PutItem", b"{}") == first
    clock.now_s += 0.05
    assert signer.request("T.PutItem", b"{}") != first


def test_the_key_changes_with_the_day_even_if_the_second_of_the_day_is_the_same(clock: Clock) -> None:
    compared = Compared(clock)
    for _ in range(3):
        compared.check()
        clock.now_s += 86_400


def test_a_clock_that_is_set_back_is_followed(clock: Clock) -> None:
    compared = Compared(clock)
    for step_s in (0, -1, -86_400):
        clock.now_s += step_s
        compared.check()


def test_the_answer_is_asked_for_uncompressed_because_the_checksum_is_of_the_plain_bytes(
    clock: Clock,
) -> None:
    headers, _ = parsed(Compared(clock).signer.request("T.GetItem", b"{}"))
    assert headers["accept-encoding"] == "identity"


def test_secrets_are_not_printed(clock: Clock) -> None:
    keys = AwsKeys("visible", Secret("hidden-secret"), Secret("hidden-token"))
    assert "hidden" not in repr(keys)
    assert b"hidden-secret" not in Compared(clock, keys=keys).signer.request("T.GetItem", b"{}")
