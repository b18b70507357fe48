"""Schemas of moderation: rules of a chat, mutes, bans, links and invites."""

from typing import Annotated, Literal, Self

from pydantic import Field
from pydantic.config import JsonDict

from tidings.api.schemas.api_model import SHOWN, ApiModel, Cursor, Time, UserName, with_examples
from tidings.api.schemas.chat_list import TimeText
from tidings.api.schemas.chats import IdempotentBody, JoinRuleName
from tidings.chats.model import FOREVER_MS, MAX_JOINS_PER_CALL, Invite, JoinRule, Membership
from tidings.chats.moderation import MAX_REASON_CHARS, MAX_SLOW_MODE_S, RulesChange
from tidings.kernel.clock import format_ms
from tidings.tenants.model import ContentRules, ListedTerm

Reason = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_REASON_CHARS,
        pattern=SHOWN,
        description="Members of the chat see it.",
        examples=["spam"],
    ),
]
_BAN: JsonDict = {"user": "ben", "until": "2026-12-01T00:00:00.000Z", "reason": "spam"}
_INVITE: JsonDict = {
    "chat": "gLAJWK6M7H3QFQ3PWXCZ5GZQD",
    "invited_by": "anna",
    "created_at": "2026-11-15T02:11:21.957Z",
}


class ChatRulesBody(IdempotentBody):
    """Rules of a group. Fields that are not given keep their values."""

    model_config = with_examples({"is_frozen": True}, {"slow_mode_seconds": 30}, {"join_rule": "link"})

    is_frozen: Annotated[bool | None, Field(description="Only admins may send messages.")] = None
    slow_mode_seconds: Annotated[
        int | None,
        Field(ge=0, le=MAX_SLOW_MODE_S, description="Time between messages of one member. 0: none."),
    ] = None
    join_rule: Annotated[
        JoinRuleName | None,
        Field(description="`closed`: admins add members. `link`: with the chat's link. `open`: everyone."),
    ] = None

    def change(self) -> RulesChange:
        return RulesChange(
            is_frozen=self.is_frozen,
            slow_mode_s=self.slow_mode_seconds,
            join_rule=None if self.join_rule is None else JoinRule(self.join_rule),
        )


class RestrictionBody(IdempotentBody):
    """A mute or ban."""

    model_config = with_examples({"until": "2026-12-01T00:00:00Z", "reason": "spam"}, {})

    until: Annotated[
        TimeText | None, Field(description="When it ends, by the server's clock. Absent: it has no end.")
    ] = None
    reason: Reason | None = None


class BanResponse(ApiModel):
    model_config = with_examples(_BAN)

    user: str
    until: Time | None = None
    reason: str | None = None

    @classmethod
    def of(cls, row: Membership) -> Self:
        has_end = row.banned_until_ms < FOREVER_MS
        until = format_ms(row.banned_until_ms) if has_end else None
        return cls(user=row.user, until=until, reason=row.ban_reason)


class BansResponse(ApiModel):
    """Bans by user id. A page with a `cursor` is not the last one, also if it is empty."""

    model_config = with_examples({"bans": [_BAN]})

    bans: list[BanResponse]
    cursor: Cursor | None = None


class ListedTermModel(ApiModel):
    """`mask`: it is replaced by `*`. `refuse`: the message is answered with `message_refused`. `flag`: the message is sent
    and enters the review queue.
    """

    text: Annotated[str, Field(min_length=1, max_length=40, pattern=SHOWN)]
    action: Literal["mask", "refuse", "flag"] = "mask"


class ListedDomainModel(ListedTermModel):
    """A domain with its subdomains."""

    text: Annotated[
        str,
        Field(max_length=40, pattern=r"^[a-z0-9-]{1,39}(\.[a-z0-9-]{1,39}){1,5}$", examples=["bad.example"]),
    ]


class ContentRulesBody(ApiModel):
    """Words and links that messages and edits must not contain. At most 8 KB."""

    model_config = with_examples(
        {
            "words": [{"text": "darn", "action": "mask"}],
            "domains": [{"text": "bad.example", "action": "refuse"}],
        }
    )

    words: Annotated[list[ListedTermModel], Field(max_length=100)] = Field(default_factory=list)
    domains: Annotated[list[ListedDomainModel], Field(max_length=50)] = Field(default_factory=list)

    @classmethod
    def of(cls, rules: ContentRules) -> Self:
        return cls(
            words=[ListedTermModel(text=each.text, action=each.action) for each in rules.words],
            domains=[ListedDomainModel(text=each.text, action=each.action) for each in rules.domains],
        )

    def rules(self) -> ContentRules:
        return ContentRules(
            words=tuple(ListedTerm(text=each.text, action=each.action) for each in self.words),
            domains=tuple(ListedTerm(text=each.text, action=each.action) for each in self.domains),
        )


class JoinBody(IdempotentBody):
    model_config = with_examples({"token": "9n1Y0mZ0mC6cYwR0kq5tXw"}, {})

    token: Annotated[
        str | None,
        Field(min_length=1, max_length=64, description="The token of the chat's link, for the rule `link`."),
    ] = None


class JoinLinkResponse(ApiModel):
    """A new link. The token is returned only here."""

    model_config = with_examples({"token": "9n1Y0mZ0mC6cYwR0kq5tXw"})

    token: str


class InviteBody(ApiModel):
    model_config = with_examples({"users": ["dora"]})

    users: Annotated[list[UserName], Field(min_length=1, max_length=MAX_JOINS_PER_CALL)]


class InviteResponse(ApiModel):
    model_config = with_examples(_INVITE)

    chat: str
    invited_by: str
    created_at: Time

    @classmethod
    def of(cls, invite: Invite) -> Self:
        return cls(chat=invite.chat, invited_by=invite.by, created_at=format_ms(invite.created_at_ms))


class InvitesResponse(ApiModel):
    model_config = with_examples({"invites": [_INVITE]})

    invites: list[InviteResponse]
    cursor: Cursor | None = None
