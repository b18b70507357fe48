"""What all models of the edge share: nothing unknown comes in, no text passes for a number."""

from typing import Annotated, Final, Literal

from fastapi import Path
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from tidings.kernel.clock import format_ms
from tidings.kernel.errors import Code
from tidings.kernel.ids import USER_ID as _USER_ID
from tidings.kernel.ids import USER_ID_CHARS, ChatId, ClientKey, MessageId, UserId


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


PART: Final = r'^[!"$-)+-.0-~]+$'
"""Printable, no blank, none of `#`, `*`, `/`."""

USER_PART: Final = _USER_ID

SHOWN: Final = r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e]*$"
"""A line for people: no control characters and nothing that turns the direction of the text around it."""

E164: Final = r"^\+[1-9][0-9]{6,14}$"

CLIENT_KEY_CHARS: Final = 48
"""Below what the table holds: a change that goes in several steps makes its keys from this one."""

UserName = Annotated[
    UserId,
    Field(
        min_length=1,
        max_length=USER_ID_CHARS,
        pattern=USER_PART,
        description="A user's id.",
        examples=["anna"],
    ),
]
ClientKeyName = Annotated[
    ClientKey,
    Field(
        min_length=1,
        max_length=CLIENT_KEY_CHARS,
        pattern=PART,
        description="Chosen by the client, the same for every try: a repeat gives the first answer again, for 7 days.",
        examples=["01JCQ4Z7N3V5X9B2M8K6T1R0WD"],
    ),
]
ChatInPath = Annotated[
    ChatId,
    Path(
        min_length=1,
        max_length=64,
        pattern=PART,
        description="A chat's id.",
        examples=["gLAJWK6M7H3QFQ3PWXCZ5GZQD"],
    ),
]
UserInPath = Annotated[
    UserId,
    Path(
        min_length=1,
        max_length=USER_ID_CHARS,
        pattern=USER_PART,
        description="A user's id.",
        examples=["ben"],
    ),
]
MessageInPath = Annotated[
    MessageId,
    Path(
        min_length=3,
        max_length=80,
        pattern=r'^[!"$-)+-.0-~]{1,64}\.[1-9][0-9]{0,14}$',
        description="A message's id: its chat and its sequence.",
        examples=["gLAJWK6M7H3QFQ3PWXCZ5GZQD.7"],
    ),
]
Sequence = Annotated[int, Field(ge=1, le=10**15 - 1, description="A place in the chat's log.", examples=[7])]
Position = Annotated[int, Field(ge=0, le=10**15 - 1, examples=[6])]

USER_ID: Final[TypeAdapter[UserId]] = TypeAdapter(UserName)
CLIENT_KEY: Final[TypeAdapter[ClientKey]] = TypeAdapter(ClientKeyName)


class FieldError(ApiModel):
    """One thing that is wrong with a request, and where."""

    location: Annotated[
        Literal["body", "query", "path", "header", "cookie"], Field(description="Which part of the request.")
    ]
    pointer: Annotated[str, Field(description="A JSON pointer into that part.", examples=["/mentions/3"])]
    detail: Annotated[str, Field(examples=["String should have at most 64 characters"])]


class Problem(ApiModel):
    """Why not. `code` is stable and the same on every way into Tidings; `detail` is for people and may change."""

    type: Annotated[
        str,
        Field(description="Where the code is explained.", examples=["/errors/chat_full"]),
    ]
    title: Annotated[str, Field(examples=["Chat full"])]
    status: Annotated[int, Field(examples=[409])]
    detail: Annotated[str, Field(examples=["The chat would have 1001 members; 1000 are allowed."])]
    code: Annotated[Code, Field(strict=False, examples=["chat_full"])]
    retryable: Annotated[bool, Field(description="The same request can succeed later.", examples=[False])]
    request_id: Annotated[str, Field(description="As in the logs.", examples=["01JCQ4Z7N3V5X9B2M8K6T1R0WD"])]
    hint: Annotated[str | None, Field(description="What to do about it.")] = None
    retry_after_ms: Annotated[int | None, Field(description="Not before that, as in Retry-After.")] = None
    errors: Annotated[
        list[FieldError] | None, Field(description="Each fault of a request that does not fit.")
    ] = None
