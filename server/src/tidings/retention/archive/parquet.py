"""Rows of the archive as Parquet. Needs the extra `archive`."""

from collections.abc import Sequence
from datetime import UTC, datetime
from io import BytesIO

import pyarrow as pa
import pyarrow.parquet as pq

from tidings.kernel.ids import ChatId
from tidings.retention.archive.model import ArchivedRow

_SCHEMA = pa.schema(
    [
        pa.field("chat", pa.string(), nullable=False),
        pa.field("sequence", pa.int64(), nullable=False),
        pa.field("created_at", pa.timestamp("ms", tz="UTC"), nullable=False),
        pa.field("content", pa.binary(), nullable=False),
    ]
)


def encode_rows(rows: Sequence[ArchivedRow]) -> bytes:
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(_SCHEMA)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, _SCHEMA, strict=True)]
    out = BytesIO()
    # Encrypted content does not compress.
    pq.write_table(
        pa.Table.from_arrays(arrays, schema=_SCHEMA),
        out,
        use_dictionary=["chat"],
        compression={"chat": "zstd", "sequence": "zstd", "created_at": "zstd", "content": "none"},
    )
    return out.getvalue()


def decode_rows(body: bytes) -> list[ArchivedRow]:
    """Return the rows of a part. Raises `pyarrow.ArrowException` for bytes of another form."""
    columns = pq.read_table(BytesIO(body), schema=_SCHEMA).to_pydict()
    found = zip(columns["chat"], columns["sequence"], columns["created_at"], columns["content"], strict=True)
    return [ArchivedRow(ChatId(chat), sequence, _ms(at), content) for chat, sequence, at, content in found]


def _ms(at: datetime) -> int:
    return round((at - datetime.fromtimestamp(0, UTC)).total_seconds() * 1000)
