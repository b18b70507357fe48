"""Base model, shared field types and the error schema.

Unknown fields are refused, and strings are not converted to numbers.
"""

from typing import Annotated, Final, Literal

from fastapi import Path
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter
from pydantic.config import JsonDict

from tidings.kernel.errors import Code
from tidings.kernel.ids import USER_ID as _USER_ID
from tidings.kernel.ids import USER_ID_CHARS, ChatId, ClientKey, MessageId, TenantId, UserId


class ApiModel(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def with_examples(*examples: JsonDict) -> ConfigDict:
    """Return a model configuration with examples for the OpenAPI document."""
    return ConfigDict(json_schema_extra={"examples": [*examples]})


Time = Annotated[str, Field(json_schema_extra={"format": "date-time"}, examples=["2026-11-15T02:11:21.957Z"])]
"""A time in answers: UTC with milliseconds."""

Cursor = Annotated[
    str,
    Field(
        max_length=512,
        description="An opaque cursor. Send it unchanged to get the next page. Valid for the same caller and list only.",
        examples=["kM2cVZ8m0vJr1mJ4yq0O2WJlbg"],
    ),
]


PART: Final = r'^[!"$-)+-.0-~]+$'
"""Printable ASCII without space, `#`, `*` and `/`."""

USER_PART: Final = _USER_ID

TENANT: Final = r"^[a-z0-9][a-z0-9-]{0,31}$"

SHOWN: Final = r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e]*$"
"""One line of text without control characters and without bidirectional overrides."""

E164: Final = r"^\+[1-9][0-9]{6,14}$"

CLIENT_KEY_CHARS: Final = 48
"""Less than the table allows: a change in several steps derives its keys from this one."""

UserName = Annotated[
    UserId,
    Field(
        min_length=1,
        max_length=USER_ID_CHARS,
        pattern=USER_PART,
        description="A user id.",
        examples=["anna"],
    ),
]
ClientKeyName = Annotated[
    ClientKey,
    Field(
        min_length=1,
        max_length=CLIENT_KEY_CHARS,
        pattern=PART,
        description="An idempotency key chosen by the client. Retries with the same key return the first answer, for "
        "7 days.",
        examples=["01JCQ4Z7N3V5X9B2M8K6T1R0WD"],
    ),
]
TenantInPath = Annotated[TenantId, Path(pattern=TENANT, description="A tenant id.")]
ChatInPath = Annotated[
    ChatId,
    Path(
        min_length=1,
        max_length=64,
        pattern=PART,
        description="A chat id.",
        examples=["gLAJWK6M7H3QFQ3PWXCZ5GZQD"],
    ),
]
UserInPath = Annotated[
    UserId,
    Path(
        min_length=1,
        max_length=USER_ID_CHARS,
        pattern=USER_PART,
        description="A user id.",
        examples=["ben"],
    ),
]
MessageInPath = Annotated[
    MessageId,
    Path(
        min_length=3,
        max_length=80,
        pattern=r'^[!"$-)+-.0-~]{1,64}\.[1-9][0-9]{0,14}$',
        description="A message id: chat id and sequence, separated by a dot.",
        examples=["gLAJWK6M7H3QFQ3PWXCZ5GZQD.7"],
    ),
]
Sequence = Annotated[
    int, Field(ge=1, le=10**15 - 1, description="The number of an entry in the chat's log.", examples=[7])
]
Position = Annotated[int, Field(ge=0, le=10**15 - 1, examples=[6])]

USER_ID: Final[TypeAdapter[UserId]] = TypeAdapter(UserName)
CLIENT_KEY: Final[TypeAdapter[ClientKey]] = TypeAdapter(ClientKeyName)


class FieldError(ApiModel):
    """An invalid field of a request."""

    location: Annotated[
        Literal["body", "query", "path", "header", "cookie"], Field(description="The part of the request.")
    ]
    pointer: Annotated[
        str, Field(description="A JSON pointer to the field in that part.", examples=["/mentions/3"])
    ]
    detail: Annotated[str, Field(examples=["String should have at most 64 characters"])]


class Problem(ApiModel):
    """An error. `code` is stable and the same in REST, WebSocket frames and commands. `detail` may change."""

    type: Annotated[
        str,
        Field(description="Link to the documentation of the code.", examples=["/errors/chat_full"]),
    ]
    title: Annotated[str, Field(examples=["Chat full"])]
    status: Annotated[int, Field(examples=[409])]
    detail: Annotated[str, Field(examples=["The chat would have 1001 members; 1000 are allowed."])]
    code: Annotated[Code, Field(strict=False, examples=["chat_full"])]
    retryable: Annotated[
        bool, Field(description="Whether the same request can succeed later.", examples=[False])
    ]
    request_id: Annotated[
        str,
        Field(
            description="Identifies the request in the server's log.", examples=["01JCQ4Z7N3V5X9B2M8K6T1R0WD"]
        ),
    ]
    hint: Annotated[str | None, Field(description="How to resolve the error.")] = None
    retry_after_ms: Annotated[
        int | None, Field(description="Wait this long before a retry, as in `Retry-After`.")
    ] = None
    errors: Annotated[list[FieldError] | None, Field(description="All invalid fields of the request.")] = None
