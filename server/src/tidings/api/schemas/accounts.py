"""Schemas of login, sessions and users."""

from typing import Annotated, Literal, Self, override

from msgspec import UNSET
from msgspec.structs import replace
from pydantic import Field
from pydantic.config import JsonDict

from tidings.accounts.model import (
    Challenge,
    Device,
    LoginResult,
    Phone,
    ProfileChange,
    Session,
    TokenGrant,
    User,
)
from tidings.accounts.phone_login import CodeAnswer
from tidings.api.schemas.api_model import (
    E164,
    SHOWN,
    USER_PART,
    ApiModel,
    Time,
    UserName,
    with_examples,
)
from tidings.ephemeral.model import Presence
from tidings.kernel.clock import format_ms, format_ms_or_none
from tidings.kernel.ids import DeviceId, TenantId, UserId
from tidings.kernel.mail_addresses import EMAIL_BYTES, EMAIL_PATTERN

_AT = "2026-11-15T02:11:21.957Z"
_PHONE = "+4915123456789"
_CHALLENGE = "ORUGS4ZANFZSAYJAMNUGC3DMMV"
_DEVICE: JsonDict = {"id": "01JCQ50Y8D2JX4N6T0V3Z7K9PA", "name": "Anna's phone"}
_TOKENS: JsonDict = {
    "session": "01JCQ51A2B3C4D5E6F7G8H9J0K",
    "access_token": "eyJhbGciOiJIUzI1NiIsInR5cCI6ImF0K2p3dCJ9.e30.c2lnbmF0dXJl",
    "access_expires_at": _AT,
    "refresh_token": "tdr.acme.01JCQ51A2B3C4D5E6F7G8H9J0K.c2VjcmV0",
}
_SESSION: JsonDict = {
    "id": _TOKENS["session"],
    "device": _DEVICE,
    "created_at": _AT,
    "refreshed_at": _AT,
    "expires_at": _AT,
}
USER_EXAMPLE: JsonDict = {"id": "anna", "display_name": "Anna", "created_at": _AT}

TenantName = Annotated[
    TenantId,
    Field(
        min_length=1,
        max_length=32,
        pattern=r"^[a-z0-9][a-z0-9-]*$",
        description="The tenant to log in to.",
        examples=["acme"],
    ),
]
PhoneNumber = Annotated[
    Phone, Field(pattern=E164, description="A phone number in E.164 format.", examples=[_PHONE])
]
DisplayName = Annotated[str, Field(min_length=1, max_length=64, pattern=SHOWN, examples=["Anna"])]
AvatarUri = Annotated[
    str,
    Field(
        min_length=9, max_length=896, pattern=r"^https://[!-~]+$", examples=["https://img.example.com/a.png"]
    ),
]


FoundBy = Annotated[
    Literal["everyone", "nobody"],
    Field(
        description="Users who can find this user by phone number, or add them to a group by it. `everyone`: all users "
        "of the tenant, if the tenant allows it. `nobody`: no one."
    ),
]
PresenceVisibilityName = Annotated[
    Literal["members", "nobody"],
    Field(
        description="Users who can see this user's presence and last-seen time. `members`: members of the same chats. "
        "`nobody`: no one; this user then cannot see the presence of others."
    ),
]


class RequestCodeBody(ApiModel):
    model_config = with_examples({"tenant": "acme", "phone": _PHONE})

    tenant: TenantName
    phone: PhoneNumber


class CodeSentResponse(ApiModel):
    """A requested code. The answer is the same for known and unknown numbers."""

    model_config = with_examples({"challenge": _CHALLENGE, "expires_at": _AT})

    challenge: str
    expires_at: Time

    @classmethod
    def of(cls, challenge: Challenge) -> Self:
        return cls(challenge=challenge.id, expires_at=format_ms(challenge.expires_at_ms))


class DeviceBody(ApiModel):
    """An installation of a client."""

    id: Annotated[DeviceId, Field(min_length=1, max_length=64, pattern=USER_PART)]
    name: Annotated[
        str, Field(max_length=32, pattern=SHOWN, description="Shown in the user's list of sessions.")
    ] = ""


class RedeemCodeBody(ApiModel):
    model_config = with_examples(
        {
            "tenant": "acme",
            "challenge": _CHALLENGE,
            "phone": _PHONE,
            "code": "123456",
            "device": _DEVICE,
        }
    )

    tenant: TenantName
    challenge: Annotated[str, Field(min_length=1, max_length=64)]
    phone: PhoneNumber
    code: Annotated[str, Field(pattern=r"^[0-9]{6}$")]
    device: DeviceBody

    def answer(self) -> CodeAnswer:
        return CodeAnswer(challenge=self.challenge, phone=self.phone, one_time_code=self.code)

    def on(self) -> Device:
        return Device(id=self.device.id, name=self.device.name)


class RefreshBody(ApiModel):
    model_config = with_examples({"refresh_token": _TOKENS["refresh_token"]})

    refresh_token: Annotated[str, Field(min_length=1, max_length=256)]


class TokensResponse(ApiModel):
    """The tokens of a session. A refresh replaces both. Do not use the old refresh token again."""

    model_config = with_examples(_TOKENS)

    session: str
    access_token: str
    access_expires_at: Time
    refresh_token: str

    @classmethod
    def of(cls, grant: TokenGrant) -> Self:
        return cls(
            session=grant.session.session,
            access_token=grant.access_token.reveal(),
            access_expires_at=format_ms(grant.access_expires_at_ms),
            refresh_token=grant.refresh_token.reveal(),
        )


EmailAddress = Annotated[
    str, Field(max_length=EMAIL_BYTES, pattern=EMAIL_PATTERN, examples=["anna@example.com"])
]
LocaleName = Annotated[
    str,
    Field(
        max_length=35,
        pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,4}$",
        description="The language of the user's mails.",
        examples=["de"],
    ),
]


class UserResponse(ApiModel):
    """A user. Only the user and the tenant's server see the fields from `phone` on, except `created_at`."""

    model_config = with_examples(USER_EXAMPLE)

    id: str
    display_name: str | None = None
    avatar_uri: str | None = None
    phone: str | None = None
    email: str | None = None
    email_refused: Annotated[
        Literal["bounce", "complaint"] | None,
        Field(description="Why no mail is sent to the address. A new address removes it."),
    ] = None
    locale: str | None = None
    last_seen: PresenceVisibilityName | None = None
    phone_search: FoundBy | None = None
    created_at: Time | None = None
    """`None` for a user without a stored profile, whose tokens the tenant's server signs."""
    suspended_at: Time | None = None

    @classmethod
    def without_profile(cls, user: UserId) -> Self:
        return cls(id=user)

    @classmethod
    def of(cls, user: User, *, with_phone: bool) -> Self:
        return cls(
            id=user.user,
            display_name=user.display_name,
            avatar_uri=user.avatar_uri,
            phone=user.phone if with_phone else None,
            email=user.email if with_phone else None,
            email_refused=user.email_refused.value if with_phone and user.email_refused else None,
            locale=user.locale if with_phone else None,
            last_seen=user.last_seen if with_phone else None,
            phone_search=user.phone_search if with_phone else None,
            created_at=format_ms(user.created_at_ms),
            suspended_at=format_ms(user.suspended_at_ms) if with_phone and user.suspended_at_ms else None,
        )


class PresenceResponse(ApiModel):
    """The presence of a user. `seen_at` is when an offline user was last connected, if known."""

    model_config = with_examples({"user": "ben", "status": "offline", "seen_at": _AT})

    user: str
    status: Literal["online", "away", "offline"]
    seen_at: Time | None = None

    @classmethod
    def of(cls, user: UserId, presence: Presence) -> Self:
        return cls(user=user, status=presence.status.value, seen_at=format_ms_or_none(presence.seen_ms))


class UsersResponse(ApiModel):
    """The requested users, without those that do not exist."""

    model_config = with_examples({"users": [USER_EXAMPLE]})

    users: list[UserResponse]


class LoginResponse(ApiModel):
    model_config = with_examples({"user": USER_EXAMPLE, "tokens": _TOKENS, "is_new": False})

    user: UserResponse
    tokens: TokensResponse
    is_new: Annotated[bool, Field(description="Whether this login created the user.")]

    @classmethod
    def of(cls, login: LoginResult) -> Self:
        user = UserResponse.of(login.user, with_phone=True)
        return cls(user=user, tokens=TokensResponse.of(login.grant), is_new=login.is_new)


class SessionResponse(ApiModel):
    id: str
    device: DeviceBody
    created_at: Time
    refreshed_at: Time
    expires_at: Time

    @classmethod
    def of(cls, row: Session) -> Self:
        return cls(
            id=row.session,
            device=DeviceBody.model_construct(id=row.device.id, name=row.device.name),
            created_at=format_ms(row.created_at_ms),
            refreshed_at=format_ms(row.refreshed_at_ms),
            expires_at=format_ms(row.expires_at_ms),
        )


class SessionsResponse(ApiModel):
    """Active sessions, oldest first. A session that just began may be missing."""

    model_config = with_examples({"sessions": [_SESSION]})

    sessions: list[SessionResponse]


class FindUserBody(ApiModel):
    model_config = with_examples({"phone_number": _PHONE})

    phone_number: PhoneNumber


class CreateUserBody(ApiModel):
    model_config = with_examples({"id": "anna", "display_name": "Anna"})

    id: Annotated[
        UserName | None, Field(description="An id of your choice. Without it, Tidings generates one.")
    ] = None
    phone: PhoneNumber | None = None
    display_name: DisplayName | None = None
    avatar_uri: AvatarUri | None = None
    email: EmailAddress | None = None
    locale: LocaleName | None = None


class UpdateProfileBody(ApiModel):
    """A partial update. Fields that are not given keep their values; `null` removes a value."""

    model_config = with_examples({"display_name": "Anna B."})

    display_name: DisplayName | None = None
    avatar_uri: AvatarUri | None = None
    locale: LocaleName | None = None
    last_seen: PresenceVisibilityName | None = None

    @property
    def changes_visibility(self) -> bool:
        return "last_seen" in self.model_fields_set

    def change(self) -> ProfileChange:
        given = self.model_fields_set
        return ProfileChange(
            display_name=self.display_name if "display_name" in given else UNSET,
            avatar_uri=self.avatar_uri if "avatar_uri" in given else UNSET,
            locale=self.locale if "locale" in given else UNSET,
            last_seen=self.last_seen if "last_seen" in given else UNSET,
        )


class UpdateUserBody(UpdateProfileBody):
    """A partial update by the tenant's server. Only it can change `email`: verify the address before."""

    model_config = with_examples({"email": "anna@example.com", "locale": "de"})
    email: EmailAddress | None = None

    @override
    def change(self) -> ProfileChange:
        return replace(super().change(), email=self.email if "email" in self.model_fields_set else UNSET)


class OwnProfile(UpdateProfileBody):
    """A partial update of the user's own profile. Only the user can change `phone_search`."""

    phone_search: FoundBy | None = None

    @override
    def change(self) -> ProfileChange:
        given = self.phone_search if "phone_search" in self.model_fields_set else UNSET
        return replace(super().change(), phone_search=given)
