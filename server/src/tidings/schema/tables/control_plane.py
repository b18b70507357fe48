"""DynamoDB's control plane: describe and change tables.

The only file of this package that uses botocore. The data plane is `platform.dynamo`.
"""

import functools
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

import botocore.session
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionError,  # noqa: A004 - botocore's own name for it
    HTTPClientError,
    NoCredentialsError,
)
from botocore.loaders import Loader, create_loader

from tidings.kernel.errors import Code, TidingsError
from tidings.schema.tables import descriptions
from tidings.schema.tables.descriptions import ObservedTable, read_table, read_ttl
from tidings.schema.tables.diff import TableAspect, TableChange, capacity_target, table_tags
from tidings.schema.tables.model import PITR_DAYS, CapacityUnits, Table

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

AWS = "aws"
AWS_HOSTS = (".amazonaws.com", ".amazonaws.com.cn", ".api.aws")
# An engine outside AWS requires credentials and does not verify them. DynamoDB Local accepts letters and digits only.
NO_KEY = "tidings"

GAPS_BY_SERVER = {
    # accepts a table class and does not store it
    "jetty": frozenset({TableAspect.TABLE_CLASS}),
    # ignores changes of an index's capacity
    "dynoxide": frozenset({TableAspect.INDEX_CAPACITY}),
}
PROBE = "tidings-missing"


def is_aws(endpoint: str) -> bool:
    return endpoint == AWS or (urlsplit(endpoint).hostname or "").endswith(AWS_HOSTS)


def connect_control_plane(endpoint: str, region: str) -> "DynamoDBClient":
    key = None if is_aws(endpoint) else NO_KEY
    session = botocore.session.Session()
    session.register_component("data_loader", _shared_loader())
    client = session.create_client(
        "dynamodb",
        region_name=region,
        endpoint_url=None if endpoint == AWS else endpoint,
        aws_access_key_id=key,
        aws_secret_access_key=key,
        config=Config(
            retries={"mode": "standard", "total_max_attempts": 5}, connect_timeout=5, read_timeout=30
        ),
    )
    return cast("DynamoDBClient", client)


@functools.cache
def _shared_loader() -> Loader:
    """Return botocore's cache of service descriptions. A client that loads them again takes 60 ms."""
    return create_loader()


class TableControlPlane:
    """The tables of one installation. The engine does not support the aspects in `not_known`."""

    def __init__(
        self, client: "DynamoDBClient", prefix: str, not_known: frozenset[TableAspect] = frozenset()
    ) -> None:
        self.client = client
        self.prefix = prefix
        self.not_known = not_known

    def observe(self, tables: Iterable[Table]) -> dict[str, ObservedTable]:
        """Return the declared tables that exist, and all others under the prefix."""
        names = {self.prefix + table.name for table in tables} | set(self._names_under_prefix())
        found = (self.describe(name) for name in sorted(names))
        return {seen.name: seen for seen in found if seen is not None}

    def _names_under_prefix(self) -> list[str]:
        """Return all tables under the prefix. Without a prefix return none: they can belong to other applications."""
        if not self.prefix:
            return []
        with translate_errors("list the tables"):
            pages = self.client.get_paginator("list_tables").paginate()
            return [name for page in pages for name in page["TableNames"] if name.startswith(self.prefix)]

    def describe(self, name: str) -> ObservedTable | None:
        with translate_errors(f"describe {name}"):
            try:
                seen = read_table(self.client.describe_table(TableName=name)["Table"])
            except self.client.exceptions.ResourceNotFoundException:
                return None
            if seen.is_incomplete:
                return seen
            ttl = self.client.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
            return replace(
                seen, ttl=read_ttl(ttl), pitr_days=self._pitr_days(name), tags=self._tags(seen.arn)
            )

    def create(self, table: Table) -> None:
        name = self.prefix + table.name
        with translate_errors(f"create {name}"):
            try:
                self.client.create_table(
                    **descriptions.create_table(table, name, table_tags(table, self.prefix))
                )
            except self.client.exceptions.ResourceInUseException:
                return  # another process created it at the same time; the caller compares it with the declaration

    def drop(self, table: Table) -> None:
        """Request the deletion. Returns before the table is deleted; a missing table is no error."""
        name = self.prefix + table.name
        with translate_errors(f"delete {name}"):
            try:
                self.client.delete_table(TableName=name)
            except self.client.exceptions.ResourceNotFoundException:
                return

    def change(self, table: Table, seen: ObservedTable, change: TableChange) -> bool:
        busy = self.client.exceptions
        with translate_errors(f"change {change.aspect} of {seen.name}"):
            try:
                _CHANGES[change.aspect](self, table, seen, change)
            except (
                busy.ResourceInUseException,
                busy.LimitExceededException,
                busy.ContinuousBackupsUnavailableException,
            ):
                return False
            return True

    def _pitr_days(self, name: str) -> int:
        if TableAspect.PITR in self.not_known:
            return 0
        answer = self.client.describe_continuous_backups(TableName=name)["ContinuousBackupsDescription"]
        recovery = answer.get("PointInTimeRecoveryDescription", {})
        is_on = recovery.get("PointInTimeRecoveryStatus") == "ENABLED"
        return recovery.get("RecoveryPeriodInDays", PITR_DAYS) if is_on else 0

    def _tags(self, arn: str) -> dict[str, str]:
        if TableAspect.TAGS in self.not_known:
            return {}
        pages = self.client.get_paginator("list_tags_of_resource").paginate(ResourceArn=arn)
        return {tag["Key"]: tag["Value"] for page in pages for tag in page["Tags"]}


def _set_deletion_protection(
    plane: TableControlPlane, table: Table, seen: ObservedTable, _: TableChange
) -> None:
    plane.client.update_table(TableName=seen.name, DeletionProtectionEnabled=table.is_deletion_protected)


def _set_tags(plane: TableControlPlane, table: Table, seen: ObservedTable, _: TableChange) -> None:
    plane.client.tag_resource(
        ResourceArn=seen.arn, Tags=descriptions.tag_list(table_tags(table, plane.prefix))
    )


def _set_pitr(plane: TableControlPlane, table: Table, seen: ObservedTable, _: TableChange) -> None:
    plane.client.update_continuous_backups(
        TableName=seen.name,
        PointInTimeRecoverySpecification={
            "PointInTimeRecoveryEnabled": table.has_pitr,
            "RecoveryPeriodInDays": table.backup.pitr_days,
        },
    )


def _set_ttl(plane: TableControlPlane, table: Table, seen: ObservedTable, _: TableChange) -> None:
    """Turn TTL on or off. Another attribute needs both steps; the second one follows at the next comparison."""
    attribute = seen.ttl or (table.ttl.attribute if table.ttl else "")
    plane.client.update_time_to_live(
        TableName=seen.name,
        TimeToLiveSpecification={"Enabled": seen.ttl is None, "AttributeName": attribute},
    )


def _set_stream(plane: TableControlPlane, table: Table, seen: ObservedTable, _: TableChange) -> None:
    """Turn the stream on or off. Another view needs a new stream, so both steps, as for TTL."""
    if seen.stream is None and table.stream is not None:
        plane.client.update_table(
            TableName=seen.name,
            StreamSpecification={"StreamEnabled": True, "StreamViewType": table.stream.value},
        )
    else:
        plane.client.update_table(TableName=seen.name, StreamSpecification={"StreamEnabled": False})


def _set_table_class(plane: TableControlPlane, table: Table, seen: ObservedTable, _: TableChange) -> None:
    plane.client.update_table(TableName=seen.name, TableClass=table.table_class.value)


def _set_capacity(plane: TableControlPlane, table: Table, seen: ObservedTable, _: TableChange) -> None:
    target = capacity_target(table, seen)
    turns_provisioned = target is not None and seen.units is None
    index_units = _index_units(table, seen) if turns_provisioned else {}
    plane.client.update_table(**descriptions.change_capacity(seen.name, target, index_units))


def _index_units(table: Table, seen: ObservedTable) -> dict[str, CapacityUnits]:
    """Return the capacity of existing indexes that changes. DynamoDB rejects an update to the current value."""
    existing = [index for index in table.indexes if index.name in seen.indexes]
    return {index.name: index.units for index in existing if seen.indexes[index.name].units != index.units}


def _create_index(plane: TableControlPlane, table: Table, seen: ObservedTable, change: TableChange) -> None:
    index = next(index for index in table.indexes if index.name == change.index)
    plane.client.update_table(**descriptions.create_index(table, seen.name, index))


def _set_index_capacity(
    plane: TableControlPlane, table: Table, seen: ObservedTable, change: TableChange
) -> None:
    index = next(index for index in table.indexes if index.name == change.index)
    target = seen.indexes[index.name].units.raised_to(index.units)
    plane.client.update_table(
        TableName=seen.name, GlobalSecondaryIndexUpdates=[descriptions.index_capacity(index.name, target)]
    )


_CHANGES: dict[TableAspect, Callable[[TableControlPlane, Table, ObservedTable, TableChange], None]] = {
    TableAspect.DELETION_PROTECTION: _set_deletion_protection,
    TableAspect.TAGS: _set_tags,
    TableAspect.PITR: _set_pitr,
    TableAspect.TTL: _set_ttl,
    TableAspect.STREAM: _set_stream,
    TableAspect.TABLE_CLASS: _set_table_class,
    TableAspect.CAPACITY: _set_capacity,
    TableAspect.INDEX: _create_index,
    TableAspect.INDEX_CAPACITY: _set_index_capacity,
}


def unsupported_aspects(client: "DynamoDBClient", region: str) -> frozenset[TableAspect]:
    """Find the aspects that an engine outside AWS does not support, by requests about a missing table."""
    arn = f"arn:aws:dynamodb:{region}:000000000000:table/{PROBE}"
    with translate_errors("probe the engine"):
        backups = _refusal(lambda: client.describe_continuous_backups(TableName=PROBE))
        tagging = _refusal(lambda: client.list_tags_of_resource(ResourceArn=arn))
    gaps = {
        aspect
        for aspect, answer in ((TableAspect.PITR, backups), (TableAspect.TAGS, tagging))
        if _is_unknown(answer)
    }
    return frozenset(gaps) | _gaps_of_server(backups)


def _refusal(call: Callable[[], object]) -> ClientError | None:
    try:
        call()
    except ClientError as error:
        return error
    return None


def _is_unknown(answer: ClientError | None) -> bool:
    return answer is not None and answer.response["Error"]["Code"] == "UnknownOperationException"


def _gaps_of_server(answer: ClientError | None) -> frozenset[TableAspect]:
    if answer is None:
        return frozenset()
    server = answer.response["ResponseMetadata"]["HTTPHeaders"].get("server", "").lower()
    return next((gaps for name, gaps in GAPS_BY_SERVER.items() if server.startswith(name)), frozenset())


@contextmanager
def translate_errors(doing: str) -> Iterator[None]:
    """Translate errors of botocore: which request failed, what AWS answered, what to do."""
    try:
        yield
    except NoCredentialsError as error:
        raise TidingsError(
            Code.TABLES_FAILED,
            f"Could not {doing}: no AWS credentials",
            hint="Configure them as for every AWS tool: a profile, AWS_ACCESS_KEY_ID …, or a role.",
        ) from error
    except (ConnectionError, HTTPClientError) as error:
        raise TidingsError(
            Code.ENGINE_UNREACHABLE,
            f"Could not {doing}: {error}",
            hint="Check dynamo.endpoint (`tidings config show`), and that the engine runs.",
        ) from error
    except ClientError as error:
        raise _failed(doing, error) from error
    except BotoCoreError as error:
        raise TidingsError(Code.TABLES_FAILED, f"Could not {doing}: {error}") from error


def _failed(doing: str, error: ClientError) -> TidingsError:
    said = error.response["Error"]
    is_ttl = error.operation_name == "UpdateTimeToLive"
    return TidingsError(
        Code.TABLES_FAILED,
        f"Could not {doing}: {said['Code']}: {said['Message']}",
        hint="AWS allows one change of TTL per hour. Run apply again later; it continues from here."
        if is_ttl
        else "Earlier changes remain. Fix the cause and run apply again.",
        details={"aws_code": said["Code"]},
    )
