"""Schemas of the tenant's directory of users."""

from typing import Annotated

from pydantic import Field

from tidings.api.schemas.accounts import USER_EXAMPLE, UserResponse
from tidings.api.schemas.api_model import ApiModel, Cursor, UserName, with_examples


class UsersParams(ApiModel):
    ids: Annotated[
        list[UserName], Field(min_length=1, max_length=100, description="Up to 100 ids: `ids=anna&ids=ben`.")
    ]


class DirectoryParams(ApiModel):
    cursor: Cursor | None = None
    limit: Annotated[int, Field(ge=1, le=100)] = 100
    prefix: Annotated[
        str,
        Field(
            max_length=64, pattern=r"^[!-~]*$", description="List only users whose ids start with this text."
        ),
    ] = ""


class DirectoryResponse(ApiModel):
    model_config = with_examples({"users": [USER_EXAMPLE], "cursor": "kM2cVZ8m"})

    users: list[UserResponse]
    cursor: Annotated[
        Cursor | None, Field(description="Cursor of the next page. Absent on the last page.")
    ] = None
