"""Requests to AWS KMS equal those of botocore, and answers are parsed as botocore parses them.

AWS itself is not called; botocore's service model is the oracle.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import botocore.session
import pytest
from botocore.config import Config
from botocore.stub import Stubber
from contract.tenants.kms_server import ACCESS_KEY, ARN, REGION, SECRET_KEY, KmsServer, Request, kms_server

from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.security import Secret
from tidings.platform.dynamo.credentials import AwsKeys
from tidings.tenants.kms import DECRYPT, GENERATE, AwsKms, open_aws_kms
from tidings.tenants.model import UnwrapError

FOR = {"tenant": "acme", "key": "content-0000000001", "purpose": "content"}
KEYS = AwsKeys(ACCESS_KEY, Secret(SECRET_KEY))
NEW, OLD = "alias/new", "alias/old"


@asynccontextmanager
async def open_kms() -> AsyncIterator[tuple[KmsServer, AwsKms]]:
    async with kms_server() as server:
        server.add_key(NEW)
        server.add_key(OLD)
        async with open_aws_kms(server.url, REGION, NEW, [OLD], keys=KEYS) as kms:
            yield server, kms


def by_botocore(url: str) -> Any:
    session = botocore.session.Session()
    return session.create_client(
        "kms",
        region_name=REGION,
        endpoint_url=url,
        aws_access_key_id=ACCESS_KEY,
        aws_secret_access_key=SECRET_KEY,
        config=Config(retries={"total_max_attempts": 1}),
    )


def shape(request: Request) -> dict[str, object]:
    """Return the parts of a request that the service reads. The server has verified the signature."""
    algorithm, _, credential = str(request.headers["authorization"]).partition("Credential=")
    key, _, scope = credential.partition(", Signature=")[0].partition("/")
    return {
        "body": request.asked,
        "target": request.headers["x-amz-target"],
        "type": request.headers["content-type"],
        "host": request.headers["host"],
        "algorithm": algorithm,
        "key": key,
        "scope and signed headers": scope,
    }


async def test_requests_have_the_shape_that_botocore_gives_them() -> None:
    async with open_kms() as (server, kms):
        generated = await kms.generate(FOR)
        unwrapped = await kms.unwrap(generated.wrapped, FOR)
        client = by_botocore(server.url)
        theirs = await asyncio.to_thread(
            client.generate_data_key_without_plaintext, KeyId=NEW, KeySpec="AES_256", EncryptionContext=FOR
        )
        decrypted = await asyncio.to_thread(
            client.decrypt, KeyId=NEW, CiphertextBlob=generated.wrapped, EncryptionContext=FOR
        )
        ours, by_them = server.requests[:2], server.requests[2:]
        assert [shape(request) for request in ours] == [shape(request) for request in by_them]
        assert decrypted["Plaintext"] == unwrapped
        assert theirs["KeyId"] == generated.wrapped_by == ARN + NEW


async def test_the_server_of_these_tests_refuses_a_signature_that_is_wrong() -> None:
    wrong = AwsKeys(ACCESS_KEY, Secret(SECRET_KEY + "x"))
    async with kms_server() as server, open_aws_kms(server.url, REGION, NEW, keys=wrong) as kms:
        server.add_key(NEW)
        with pytest.raises(TidingsError, match="InvalidSignatureException") as caught:
            await kms.generate(FOR)
        assert caught.value.code is Code.KEYS_UNAVAILABLE


def test_requests_and_answers_match_the_service_model_of_botocore() -> None:
    """The stubber validates both against the service model of KMS: names, types, required members."""
    client = by_botocore("http://127.0.0.1:9")
    with Stubber(client) as stub:
        asked = {"KeyId": NEW, "KeySpec": "AES_256", "EncryptionContext": FOR}
        stub.add_response(
            "generate_data_key_without_plaintext", {"CiphertextBlob": b"x", "KeyId": ARN + NEW}, asked
        )
        client.generate_data_key_without_plaintext(**asked)
        stub.add_response("decrypt", {"Plaintext": b"x", "KeyId": ARN + NEW})
        client.decrypt(KeyId=NEW, CiphertextBlob=b"x", EncryptionContext=FOR)
    model = client.meta.service_model
    for verb in (GENERATE, DECRYPT):
        prefix, _, operation = verb.target.partition(".")
        assert prefix == model.metadata["targetPrefix"]
        assert operation in model.operation_names
    assert (model.metadata["jsonVersion"], model.signing_name) == ("1.1", "kms")


async def test_a_former_key_still_unwraps_and_wraps_no_more() -> None:
    async with open_kms() as (server, kms):
        async with open_aws_kms(server.url, REGION, OLD, keys=KEYS) as before:
            generated = await before.generate(FOR)
        assert await kms.unwrap(generated.wrapped, FOR)
        assert (await kms.generate(FOR)).wrapped_by == ARN + NEW


async def test_a_key_of_another_account_is_not_unwrapped_although_the_service_would() -> None:
    """An attacker who can write the table may own a KMS key that we can use. We must not unwrap with it."""
    async with open_kms() as (server, kms):
        server.add_key("alias/evil")
        async with open_aws_kms(server.url, REGION, "alias/evil", keys=KEYS) as evil:
            generated = await evil.generate(FOR)
        server.requests.clear()
        with pytest.raises(UnwrapError):
            await kms.unwrap(generated.wrapped, FOR)
        assert [request.asked["KeyId"] for request in server.requests] == [NEW, OLD]


@pytest.mark.parametrize(
    ("status", "code"),
    [(500, "KMSInternalException"), (503, "DependencyTimeoutException"), (400, "ThrottlingException")],
)
async def test_a_temporary_error_is_retried(status: int, code: str) -> None:
    async with open_kms() as (server, kms):
        server.failures = [(status, code)] * 2
        assert len((await kms.generate(FOR)).wrapped) > 32
        assert len(server.requests) == 3


@pytest.mark.parametrize(
    "code", ["AccessDeniedException", "DisabledException", "KMSInvalidStateException", "NotFoundException"]
)
async def test_an_error_that_an_operator_can_fix_means_unavailable_not_unreadable(code: str) -> None:
    async with open_kms() as (server, kms):
        generated = await kms.generate(FOR)
        server.failures = [(400, code)]
        with pytest.raises(TidingsError, match=code) as caught:
            await kms.unwrap(generated.wrapped, FOR)
        assert caught.value.code is Code.KEYS_UNAVAILABLE
        assert "kms:Decrypt" in caught.value.hint
        assert await kms.unwrap(generated.wrapped, FOR)
