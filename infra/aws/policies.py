"""The IAM policy of each process: exactly the actions that its calls need.

A policy is a template of OpenTofu, in which `${account}` and other names are replaced. So the module, the evaluator and a
reader see the same text.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import Template
from typing import Any, Final

from infra.aws.process_calls import ProcessCalls, read_calls
from tidings.platform.dynamo.operations import Operation
from tidings.schema.tables.declaration import TABLES
from tidings.schema.tables.patterns import REGISTRY

type Right = tuple[str, str]
"""An action and a resource: `table/users`, `table/users/index/…`, `stream/messages`, `key`, `bucket`, `object/…`, `phone`, `any`."""

POLICIES: Final = Path(__file__).parents[1] / "tofu" / "iam" / "policies"
_ARN: Final = "arn:${partition}:dynamodb:${region}:${account}:table/${prefix}"
_S3_CLIENT: Final = "tidings.platform.s3.client.S3Client"
_STREAMED: Final = tuple(table.name for table in TABLES if table.stream is not None)
_S3: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "api": {
        "bucket": ("s3:ListBucket",),
        "object/uploads": (
            "s3:GetObject",
            "s3:PutObject",
            "s3:AbortMultipartUpload",
            "s3:ListMultipartUploadParts",
        ),
        "object/exports": ("s3:GetObject",),
    },
    "archive": {"bucket": ("s3:ListBucket",), "object/archive": ("s3:GetObject", "s3:PutObject")},
    "console": {"bucket": ("s3:ListBucket",), "object/exports": ("s3:GetObject",)},
    "media": {
        "bucket": ("s3:ListBucket", "s3:ListBucketMultipartUploads"),
        "object/uploads": (
            "s3:GetObject",
            "s3:PutObject",
            "s3:DeleteObject",
            "s3:AbortMultipartUpload",
            "s3:ListMultipartUploadParts",
        ),
    },
    "notifications": {
        "bucket": ("s3:ListBucket", "s3:ListBucketMultipartUploads"),
        "object/uploads": ("s3:GetObject",),
        "object/exports": (
            "s3:GetObject",
            "s3:PutObject",
            "s3:DeleteObject",
            "s3:AbortMultipartUpload",
            "s3:ListMultipartUploadParts",
        ),
        "object/archive": ("s3:DeleteObject",),
    },
    "operator": {
        "bucket": ("s3:ListBucket", "s3:ListBucketMultipartUploads"),
        "object/uploads": ("s3:GetObject", "s3:DeleteObject", "s3:AbortMultipartUpload"),
        "object/exports": ("s3:GetObject",),
        "object/archive": ("s3:GetObject", "s3:PutObject"),
    },
}
"""Objects of uploads, of exports and of the archive differ by key, and the methods of the client do not distinguish them."""
_PLACES: Final = ("exports", "archive")
"""The parts of keys of objects that are no uploads."""
_KMS: Final[Mapping[str, tuple[str, ...]]] = {
    "generate": ("kms:GenerateDataKeyWithoutPlaintext",),
    "unwrap": ("kms:Decrypt",),
    "rewrap": ("kms:Decrypt", "kms:ReEncryptFrom", "kms:ReEncryptTo"),
}
_STREAMS: Final = {
    "list_streams": "ListStreams",
    "describe": "DescribeStream",
    "iterator": "GetShardIterator",
    "records": "GetRecords",
}
_CONTROL_PLANE: Final[Mapping[str, tuple[str, ...]]] = {
    "describe": ("DescribeTable", "DescribeTimeToLive", "DescribeContinuousBackups", "ListTagsOfResource"),
    "create": ("CreateTable", "TagResource"),
    "change": ("UpdateTable", "UpdateTimeToLive", "UpdateContinuousBackups", "TagResource"),
}

_USE_MEDIA_KEY: Final[Mapping[str, Any]] = {
    "Effect": "Allow",
    "Action": ["kms:Decrypt", "kms:GenerateDataKey"],
    "Resource": ["${media_key}"],
    "Condition": {"StringEquals": {"kms:ViaService": "s3.${region}.amazonaws.com"}},
}
_NO_TOPICS: Final[Mapping[str, Any]] = {
    "Effect": "Deny",
    "Action": ["sns:Publish"],
    "Resource": ["arn:${partition}:sns:*:*:*"],
}
"""A text message has no ARN, so its permission is for all resources. Topics have ARNs."""


def required_rights(process: str, calls: ProcessCalls) -> set[Right]:
    """Return what a process needs, each with a declared pattern or a method of a client as its reason."""
    rights = {right for name in calls.patterns for right in _of_pattern(name)}
    rights |= {
        (f"dynamodb:{action}", f"table/{table}")
        for table, actions in calls.transactions.items()
        for action in actions
    }
    rights |= {right for method in calls.clients for right in _of_client(method)}
    if any(method.startswith(_S3_CLIENT) for method in calls.clients):
        rights |= {(action, place) for place, actions in _S3[process].items() for action in actions}
    return rights


def _of_pattern(name: str) -> Iterator[Right]:
    """Yield the rights of a pattern, except for a transaction: `ProcessCalls.transactions` has the actions of its parts."""
    pattern = REGISTRY[name]
    if pattern.operation is not Operation.TRANSACT_WRITE_ITEMS:
        index = f"/index/{pattern.index}" if pattern.index else ""
        for table in pattern.tables:
            yield f"dynamodb:{pattern.operation}", f"table/{table}{index}"


def _of_client(method: str) -> Iterator[Right]:
    owner, name = method.split(".")[-2:]
    tables = [f"table/{table.name}" for table in TABLES]
    if owner == "DynamoClient":
        action = {"describe": "DescribeTable", "describe_ttl": "DescribeTimeToLive"}[name]
        yield from ((f"dynamodb:{action}", table) for table in tables)
    elif owner == "StreamsClient" and name in _STREAMS:
        yield from ((f"dynamodb:{_STREAMS[name]}", f"stream/{table}") for table in _STREAMED)
    elif owner == "AwsKms":
        yield from ((action, "key") for action in _KMS.get(name, ()))
    elif method.endswith("SnsSms.send"):
        yield "sns:Publish", "phone"
    elif owner == "TableControlPlane":
        for action in _CONTROL_PLANE.get(name, ()):
            yield from ((f"dynamodb:{action}", table) for table in tables)
        if name == "observe":
            yield "dynamodb:ListTables", "any"


def resource_template(resource: str) -> str:
    """Return the ARN of a resource, in which names are to be replaced."""
    kind, _, name = resource.partition("/")
    return {
        "table": f"{_ARN}{name}",
        "stream": f"{_ARN}{name}/stream/*",
        "key": "${wrapping_key}",
        "bucket": "${bucket}",
        "object": f"${{bucket}}/*/{name}/*" if name in _PLACES else "${bucket}/*",
        "any": "*",
        "phone": "*",
    }[kind]


def policy(rights: set[Right]) -> dict[str, Any]:
    """Return the document: one statement for each set of resources that have the same actions."""
    actions_on: dict[str, set[str]] = defaultdict(set)
    for action, resource in rights:
        actions_on[resource].add(action)
    same: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for resource, actions in sorted(actions_on.items()):
        same[tuple(sorted(actions))].append(resource_template(resource))
    statements: list[Mapping[str, Any]] = [
        {"Effect": "Allow", "Action": list(actions), "Resource": resources}
        for actions, resources in sorted(same.items())
    ]
    if actions_on["bucket"]:
        statements.append(_USE_MEDIA_KEY)
    if objects := actions_on["object/uploads"]:
        # Uploads have no prefix of their own, so their actions are denied for the other objects.
        for place in [f"object/{name}" for name in _PLACES]:
            if denied := objects - actions_on[place]:
                template = [resource_template(place)]
                statements.append({"Effect": "Deny", "Action": sorted(denied), "Resource": template})
    if actions_on["phone"]:
        statements.append(_NO_TOPICS)
    return {"Version": "2012-10-17", "Statement": statements}


def render_policies() -> dict[Path, str]:
    """Return the text of each policy. Commands of an operator have a policy too, for the role of a person or of a job."""
    return {
        POLICIES / f"{process}.json": json.dumps(policy(required_rights(process, calls)), indent=1) + "\n"
        for process, calls in read_calls().items()
    }


SAMPLE: Final = {
    "partition": "aws",
    "region": "eu-central-1",
    "account": "123456789012",
    "prefix": "tidings-",
    "wrapping_key": "arn:aws:kms:eu-central-1:123456789012:key/11111111-1111-1111-1111-111111111111",
    "media_key": "arn:aws:kms:eu-central-1:123456789012:key/22222222-2222-2222-2222-222222222222",
    "bucket": "arn:aws:s3:::tidings-media",
}
"""Values for the templates, to evaluate the policies."""


_SAMPLE_PATHS: Final = {
    "/*/exports/*": "/acme/exports/anna/01J/archive.zip",
    "/*/archive/*": "/acme/archive/month=2026-10/01J.parquet",
    "/stream/*": "/stream/2026-11-18T00:00:00.000",
}


def read_statements(process: str, folder: Path = POLICIES) -> list[dict[str, Any]]:
    """Read a policy as OpenTofu renders it, with sample values."""
    text = Template((folder / f"{process}.json").read_text()).substitute(SAMPLE)
    found: list[dict[str, Any]] = json.loads(text)["Statement"]
    return found


def sample_arn(resource: str) -> str:
    """Return an ARN that belongs to a resource, with sample values."""
    if resource == "phone":
        return "+491700000000"
    arn = Template(resource_template(resource)).substitute(SAMPLE)
    if resource == "object/uploads":
        return f"{SAMPLE['bucket']}/acme/07/01J000000000000000000000AA/file"
    for template, sample in _SAMPLE_PATHS.items():
        arn = arn.replace(template, sample)
    return arn
