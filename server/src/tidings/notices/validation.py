"""The JSON Schema validator: compile a tenant's schema, and say whether a message is valid and why not."""

from collections.abc import Mapping
from functools import lru_cache
from itertools import islice
from typing import Any

import jsonschema_rs
import msgspec

_MAX_ERRORS = 5


def is_valid(schema: bytes, message: Mapping[str, Any]) -> bool:
    return make_validator(schema).is_valid(message)


def schema_errors(schema: bytes, message: Mapping[str, Any]) -> list[str]:
    """Return the first faults. Each can cost a thousand times what `is_valid` costs: it describes every branch."""
    errors = islice(make_validator(schema).iter_errors(message), _MAX_ERRORS)
    return [f"{'/'.join(map(str, each.instance_path)) or '.'}: {each.message}" for each in errors]


@lru_cache(maxsize=256)
def make_validator(schema: bytes) -> jsonschema_rs.Draft202012Validator:
    """Patterns take linear time, whatever they say; nothing is fetched."""
    return jsonschema_rs.Draft202012Validator(
        msgspec.json.decode(schema),
        pattern_options=jsonschema_rs.RegexOptions(size_limit=1_000_000),
        offline=True,
    )
