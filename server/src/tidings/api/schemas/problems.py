"""How an error looks: RFC 9457, with a code for programs."""

from typing import Annotated, Literal

from pydantic import Field

from tidings.api.schemas.shape import ApiModel
from tidings.kernel.errors import Code


class FieldError(ApiModel):
    """One thing that is wrong with a request, and where."""

    place: Annotated[
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
    detail: Annotated[str, Field(examples=["This would be 1001 members; 1000 are allowed."])]
    code: Annotated[Code, Field(strict=False, examples=["chat_full"])]
    retryable: Annotated[bool, Field(description="The same request can succeed later.", examples=[False])]
    request_id: Annotated[str, Field(description="As in the logs.", examples=["01JCQ4Z7N3V5X9B2M8K6T1R0WD"])]
    hint: Annotated[str | None, Field(description="What to do about it.")] = None
    retry_after_ms: Annotated[int | None, Field(description="Not before that, as in Retry-After.")] = None
    errors: Annotated[
        list[FieldError] | None, Field(description="Each fault of a request that does not fit.")
    ] = None
