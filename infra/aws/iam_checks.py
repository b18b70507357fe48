"""Compare the policies with what processes need and with what they were recorded to do."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import botocore.session

from infra.aws.evaluator import Decision, Request, evaluate, names_action
from infra.aws.policies import SAMPLE, Right, read_statements, required_rights, sample_arn
from infra.aws.process_calls import ProcessCalls, read_calls
from tidings.schema.tables.declaration import TABLES

RECORDED_FILE: Final = Path(__file__).parent / "recorded_calls.json"
_SERVICES: Final = {
    "dynamodb": "dynamodb",
    "dynamodbstreams": "dynamodb",
    "kms": "kms",
    "s3": "s3",
    "sns": "sns",
}
_NOT_OPERATIONS: Final = (
    *("dynamodb:ConditionCheckItem", "dynamodb:PartiQLSelect", "dynamodb:PartiQLInsert"),
    *("dynamodb:PartiQLUpdate", "dynamodb:PartiQLDelete", "kms:ReEncryptFrom", "kms:ReEncryptTo"),
    *("s3:ListBucketMultipartUploads", "s3:ListMultipartUploadParts", "s3:DeleteObjectVersion"),
)
"""Actions of IAM that no operation of botocore has as its name."""
_STRANGERS: Final = {
    "table of another installation": f"arn:aws:dynamodb:eu-central-1:{SAMPLE['account']}:table/tidings-staging-users",
    "table of another application": f"arn:aws:dynamodb:eu-central-1:{SAMPLE['account']}:table/users",
    "table of another account": "arn:aws:dynamodb:eu-central-1:210987654321:table/tidings-users",
    "other bucket": "arn:aws:s3:::tidings-media-backups",
    "other object": "arn:aws:s3:::tidings-media-backups/acme/07/upload/file",
    "topic": f"arn:aws:sns:eu-central-1:{SAMPLE['account']}:alarms",
    "other key": f"arn:aws:kms:eu-central-1:{SAMPLE['account']}:key/33333333-3333-3333-3333-333333333333",
}
_VIA_S3: Final = {"kms:ViaService": f"s3.{SAMPLE['region']}.amazonaws.com"}


@dataclass(frozen=True, slots=True)
class IamReport:
    """`extra`: allowed and not needed. `missing`: needed or recorded, and not allowed. `unrecorded`: not seen in any run."""

    extra: tuple[str, ...]
    missing: tuple[str, ...]
    pairs: int
    unrecorded: tuple[str, ...]

    @property
    def figures(self) -> dict[str, int]:
        return {
            "iam_denied_extra": len(self.extra),
            "iam_missing": len(self.missing),
            "iam_rights": self.pairs,
            "iam_rights_not_recorded": len(self.unrecorded),
        }


def check_iam(
    statements: Mapping[str, list[dict[str, Any]]] | None = None,
    recorded: Mapping[str, set[Right]] | None = None,
) -> IamReport:
    """Evaluate every known action on every resource, and the recorded calls. `statements`: check these processes only."""
    extra, missing, unrecorded, pairs = [], [], [], 0
    seen = read_recorded() if recorded is None else recorded
    for process, calls in read_calls().items():
        if statements is not None and process not in statements:
            continue
        policy = read_statements(process) if statements is None else statements[process]
        needed = _needed(process, calls)
        rights = required_rights(process, calls)
        pairs += len(rights)
        extra += [f"{process}: {action} on {place}" for action, place in _allowed(policy) - needed]
        done = seen.get(process, set())
        missing += [
            f"{process}: {action} on {place}"
            for action, place in needed | done
            if not _is_allowed(policy, action, place)
        ]
        unrecorded += [f"{process}: {action} on {place}" for action, place in rights - done]
    return IamReport(tuple(sorted(extra)), tuple(sorted(missing)), pairs, tuple(sorted(unrecorded)))


def _needed(process: str, calls: ProcessCalls) -> set[Right]:
    """Return the rights of a process. A process that reads or writes objects also uses their key, through S3 only."""
    rights = required_rights(process, calls)
    if any(place.startswith("object/") for _, place in rights):
        rights |= {("kms:Decrypt", "media_key"), ("kms:GenerateDataKey", "media_key")}
    return {
        (action, each)
        for action, place in rights
        for each in (_EVERYWHERE[place]() if place in _EVERYWHERE else (place,))
    }


def _allowed(policy: list[dict[str, Any]]) -> set[Right]:
    found = set()
    for action in actions():
        named = [each for each in policy if names_action(each, action)]
        found |= {(action, place) for place in places() if _is_allowed(named, action, place)}
    return found


def _is_allowed(policy: list[dict[str, Any]], action: str, place: str) -> bool:
    context = _VIA_S3 if place == "media_key" else {}
    return evaluate(policy, Request(action, _arn(place), context)) is Decision.ALLOWED


@cache
def _arn(place: str) -> str:
    if place == "media_key":
        return SAMPLE["media_key"]
    return _STRANGERS.get(place) or sample_arn(place)


@cache
def places() -> tuple[str, ...]:
    """Return all resources of an installation, and some that belong to others."""
    tables = [f"table/{table.name}" for table in TABLES]
    indexes = [f"table/{table.name}/index/{index.name}" for table in TABLES for index in table.indexes]
    streams = [f"stream/{table.name}" for table in TABLES]
    media = ["bucket", "object/uploads", "object/exports", "object/archive", "media_key", "phone"]
    return (*tables, *indexes, *streams, *media, "key", *_STRANGERS)


@cache
def actions() -> tuple[str, ...]:
    """Return the actions of DynamoDB, KMS, S3 and SNS: the operations that botocore knows, and those with another name."""
    session = botocore.session.get_session()
    found = {
        f"{prefix}:{operation}"
        for service, prefix in _SERVICES.items()
        for operation in session.get_service_model(service).operation_names
    }
    return tuple(sorted(found | set(_NOT_OPERATIONS) | {right for right, _ in _all_needed()}))


def _all_needed() -> Iterator[Right]:
    for process, calls in read_calls().items():
        yield from required_rights(process, calls)


_EVERYWHERE: Final[Mapping[str, Callable[[], Sequence[str]]]] = {
    "any": places,
    "phone": lambda: [place for place in places() if place != "topic"],
}
"""Actions without an ARN are allowed on `*`. For an ARN of another service, IAM never asks about them."""


def read_recorded(path: Path = RECORDED_FILE) -> dict[str, set[Right]]:
    found: dict[str, dict[str, list[str]]] = json.loads(path.read_text())
    return {
        process: {(action, place) for place, done in each.items() for action in done}
        for process, each in found.items()
    }


def merge_recorded(folders: Iterable[Path], path: Path = RECORDED_FILE) -> dict[str, set[Right]]:
    """Add what processes wrote to these folders to the recording. Local stores create their bucket; S3 has it already."""
    found = read_recorded(path) if path.exists() else {}
    for folder in folders:
        for each in folder.glob("*.jsonl"):
            for line in each.read_text().splitlines():
                process, action, place = json.loads(line)
                if action != "s3:CreateBucket":
                    found.setdefault(process, set()).add((action, place))
    path.write_text(
        json.dumps({process: _by_place(found[process]) for process in sorted(found)}, indent=1) + "\n"
    )
    return found


def _by_place(rights: set[Right]) -> dict[str, list[str]]:
    return {
        place: sorted(action for action, where in rights if where == place)
        for place in sorted({place for _, place in rights})
    }
