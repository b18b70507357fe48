"""Decoding of chunks from Kafka: an invalid record goes to the dead-letter queue and blocks no other."""

import pytest

from tidings.jobs.chunk_topic import decode_chunk
from tidings.jobs.model import ChunkRef, JobId
from tidings.kernel.ids import TenantId, new_ulid
from tidings.platform.kafka.errors import UndecodableError
from tidings.platform.kafka.records import Record


def record(value: bytes | None) -> Record:
    return Record("notifications", 0, 7, 0, b"key", value, ())


def test_a_chunk_is_read() -> None:
    job = JobId(new_ulid())
    value = b'{"tenant":"acme","job":"%s","chunk":3}' % job.encode()
    assert decode_chunk(record(value)) == ChunkRef(tenant=TenantId("acme"), job=job, chunk=3)


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"",
        b"{",
        b"[]",
        b'{"tenant":"acme"}',
        b'{"tenant":"\xff","job":"a","chunk":3}',
        b'{"tenant":"acme","job":"a#b","chunk":3}',
        b'{"tenant":"_system","job":"a","chunk":3}',
        b'{"tenant":"acme","job":"a","chunk":-1}',
        b'{"tenant":"acme","job":"a","chunk":"3"}',
        b'{"tenant":"acme","job":"a","chunk":10000000}',
    ],
)
def test_an_invalid_chunk_is_not_decoded(value: bytes | None) -> None:
    with pytest.raises(UndecodableError):
        decode_chunk(record(value))
