"""Record which actions a process performs on which tables, streams, keys and objects, to compare them with its policy.

Each process writes a file, with one line for each different action and resource. The names of tables have no prefix.
"""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from functools import wraps
from pathlib import Path
from typing import Any, Final

from tidings.platform.dynamo.transport import Transport
from tidings.platform.s3.client import S3Client
from tidings.tenants.kms import FileKms

type Call = tuple[str, str]
"""An action of IAM, and a resource: `table/users`, `table/users/index/…`, `stream/messages`, `key`, `bucket`, `object/…`."""

_TRANSACTED: Final = {
    "Put": "PutItem",
    "Update": "UpdateItem",
    "Delete": "DeleteItem",
    "ConditionCheck": "ConditionCheckItem",
}
_KMS: Final = {
    "generate": ("kms:GenerateDataKeyWithoutPlaintext",),
    "unwrap": ("kms:Decrypt",),
    "rewrap": ("kms:Decrypt", "kms:ReEncryptFrom", "kms:ReEncryptTo"),
}


class CallRecorder:
    def __init__(self, folder: Path) -> None:
        words = sys.argv[1:3]
        self._process = words[1] if words[:1] == ["run"] else "operator"
        self._path = folder / f"{self._process}-{os.getpid()}.jsonl"
        self._seen: set[Call] = set()

    def add(self, action: str, resource: str) -> None:
        if (action, resource) not in self._seen:
            self._seen.add((action, resource))
            with self._path.open("a") as file:
                file.write(json.dumps([self._process, action, resource]) + "\n")


def record_calls(folder: Path) -> None:
    """Wrap the clients of this process. Keys in a file are recorded as the calls to KMS that replace them on AWS."""
    recorder = CallRecorder(folder)
    _wrap_transport(recorder)
    _wrap_s3(recorder)
    for name, actions in _KMS.items():
        _wrap_kms(recorder, name, actions)


def _wrap_transport(recorder: CallRecorder) -> None:
    call = Transport.call
    prefix = os.environ.get("TIDINGS_DYNAMO_TABLE_PREFIX", "")

    @wraps(call)
    async def recorded(self: Transport, verb: Any, body: bytes, *rest: Any, **named: Any) -> Any:
        service, _, operation = verb.target.partition(".")
        if service.startswith("DynamoDB"):
            for action, resource in dynamo_calls(operation, json.loads(body), prefix):
                recorder.add(action, resource)
        return await call(self, verb, body, *rest, **named)

    Transport.call = recorded  # type: ignore[method-assign]


def dynamo_calls(operation: str, body: Mapping[str, Any], prefix: str) -> Iterator[Call]:
    """Yield what DynamoDB authorises: a transaction by its parts, a batch by its tables, a query by its index."""
    if operation == "TransactWriteItems":
        for item in body["TransactItems"]:
            for part, write in item.items():
                yield f"dynamodb:{_TRANSACTED[part]}", _table(write["TableName"], prefix)
    elif "RequestItems" in body:
        for name in body["RequestItems"]:
            yield f"dynamodb:{operation}", _table(name, prefix)
    elif "TableName" in body:
        index = f"/index/{body['IndexName']}" if "IndexName" in body else ""
        kind = "stream" if operation == "ListStreams" else "table"
        yield f"dynamodb:{operation}", _table(body["TableName"], prefix, kind) + index
    elif "StreamArn" in body:
        name = body["StreamArn"].partition(":table/")[2].partition("/")[0]
        yield f"dynamodb:{operation}", _table(name, prefix, "stream")
    else:  # GetRecords names an iterator, which belongs to the stream whose iterator was requested
        yield f"dynamodb:{operation}", "stream/messages"


def _table(name: str, prefix: str, kind: str = "table") -> str:
    return f"{kind}/{name.removeprefix(prefix)}"


def _wrap_s3(recorder: CallRecorder) -> None:
    request, sign = S3Client._request, S3Client._signed_url

    @wraps(request)
    def requested(self: S3Client, method: str, key: str, **named: Any) -> Any:
        recorder.add(*s3_call(method, key, named.get("query") or {}))
        return request(self, method, key, **named)

    @wraps(sign)
    def signed(self: S3Client, endpoint: str, method: str, key: str, life_s: int, **named: Any) -> str:
        recorder.add(*s3_call(method, key, named["query"]))
        return sign(self, endpoint, method, key, life_s, **named)

    S3Client._request = requested  # type: ignore[method-assign]
    S3Client._signed_url = signed  # type: ignore[method-assign]


def s3_call(method: str, key: str, query: Mapping[str, str]) -> Call:
    if not key:
        listing = "s3:ListBucketMultipartUploads" if "uploads" in query else "s3:ListBucket"
        return ("s3:CreateBucket" if method == "PUT" else listing), "bucket"
    kind = key.split("/")[1] if key.partition("/")[2].startswith(("exports/", "archive/")) else "uploads"
    action = {
        "GET": "s3:ListMultipartUploadParts" if "uploadId" in query else "s3:GetObject",
        "HEAD": "s3:GetObject",
        "PUT": "s3:PutObject",
        "POST": "s3:PutObject",
        "DELETE": "s3:AbortMultipartUpload" if "uploadId" in query else "s3:DeleteObject",
    }[method]
    return action, f"object/{kind}"


def _wrap_kms(recorder: CallRecorder, name: str, actions: tuple[str, ...]) -> None:
    method = getattr(FileKms, name)

    @wraps(method)
    async def recorded(*given: Any) -> Any:
        for action in actions:
            recorder.add(action, "key")
        return await method(*given)

    setattr(FileKms, name, recorded)
