"""Ids as they come in: parts of keys, so bounded and without the signs that keys are made of.

ASCII, because an id stands in addresses and headers too; without `/`, because it stands in addresses.
"""

from typing import Annotated, Final

from fastapi import Path
from pydantic import Field, TypeAdapter

from tidings.kernel.ids import USER_ID as _USER_ID
from tidings.kernel.ids import USER_ID_CHARS, ChatId, ClientKey, MessageId, UserId

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
