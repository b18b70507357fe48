"""What an item holds. Plain Python; `float` is not among it, because DynamoDB's numbers are decimal."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from decimal import Decimal
from typing import Any

type Number = int | Decimal
type ValueSet = AbstractSet[str] | AbstractSet[Number] | AbstractSet[bytes]
type ItemValue = str | Number | bytes | bool | ValueSet | list[ItemValue] | dict[str, ItemValue] | None

# What is sent should be of Value; mypy takes a literal of mixed values for `object`, so the codec checks it
# instead. What comes back is checked by the model that reads it.
type Attributes = Mapping[str, object]
type Item = dict[str, Any]
