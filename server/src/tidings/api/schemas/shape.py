"""What all models of the edge share: nothing unknown comes in, no text passes for a number."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from tidings.kernel.clock import format_ms


class ApiModel(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


Time = Annotated[str, Field(json_schema_extra={"format": "date-time"}, examples=["2026-11-15T02:11:21.957Z"])]
"""As it goes out: UTC, in milliseconds."""

Cursor = Annotated[
    str,
    Field(
        max_length=512,
        description="Where the list goes on: give it back as it is. Good for this caller and this list only.",
        examples=["kM2cVZ8m0vJr1mJ4yq0O2WJlbg"],
    ),
]


def format_ms_or_none(at_ms: int | None) -> str | None:
    return None if at_ms is None else format_ms(at_ms)
