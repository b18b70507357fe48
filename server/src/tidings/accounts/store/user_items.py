"""Convert users to and from items of the table `users`, and open their personal fields.

Name, avatar, e-mail address and phone number are sealed with the keys of the user. The index and the key of a claim contain a keyed
hash of the number.
"""

from collections.abc import Collection, Mapping

from msgspec import UNSET

from tidings.accounts.model import EmailRefusal, Phone, ProfileChange, User
from tidings.accounts.ports import ProfileKeyProvider, ProfileKeys
from tidings.kernel.clock import format_ms, parse_ms, parse_ms_or_none
from tidings.kernel.ids import TenantId, UserId
from tidings.platform.dynamo.codec import Attributes, Item, ItemValue
from tidings.schema.tables.items.accounts import PHONE, PHONE_CLAIM
from tidings.schema.tables.items.chats import user_key

_PHONE, _NAME, _AVATAR, EMAIL = "phone", "display_name", "avatar_uri", "email"
_PERSONAL = (_PHONE, _NAME, _AVATAR, EMAIL)
REFUSED = "email_refused"
ERASED = "erased"


def account_key(tenant: TenantId, user: UserId) -> dict[str, ItemValue]:
    return {"user_id": user_key(tenant, user)}


def claim_key(tenant: TenantId, number: str) -> dict[str, ItemValue]:
    """Return the key of a claim. `number` is the `phone_hash` of the phone number."""
    return {"user_id": PHONE_CLAIM.render(tenant=tenant, phone=number)}


def index_key(tenant: TenantId, number: str) -> str:
    """Return the value of the index attribute. `number` is the `phone_hash` of the phone number."""
    return PHONE.render(tenant=tenant, phone=number)


def has_personal_fields(user: User) -> bool:
    return any(value is not None for value in (user.phone, user.display_name, user.avatar_uri, user.email))


def user_item(user: User, keys: ProfileKeys | None = None, number: str | None = None) -> dict[str, ItemValue]:
    """Return the item of a user. Seals with a new nonce each time: two items of one user are not equal.

    Pass `keys` for a user with personal fields, and `number`, the `phone_hash`, for a user with a phone number.
    """
    item = account_key(user.tenant, user.user) | {
        "sessions_epoch": user.sessions_epoch,
        "created_at": format_ms(user.created_at_ms),
        "updated_at": format_ms(user.updated_at_ms),
    }
    if number is not None:
        item |= {"phone_number": index_key(user.tenant, number), "phone_verified": True}
    ended = {"not_before": user.not_before_ms, "suspended_at": user.suspended_at_ms}
    item |= {name: format_ms(at_ms) for name, at_ms in ended.items() if at_ms is not None}
    profile = {
        _PHONE: _sealed(_PHONE, user.phone, keys),
        _NAME: _sealed(_NAME, user.display_name, keys),
        _AVATAR: _sealed(_AVATAR, user.avatar_uri, keys),
        EMAIL: _sealed(EMAIL, user.email, keys),
        "locale": user.locale,
        "last_seen": None if user.last_seen == "members" else user.last_seen,
        "phone_search": None if user.phone_search == "everyone" else user.phone_search,
    }
    return item | {name: value for name, value in profile.items() if value is not None}


def profile_update(change: ProfileChange, now_ms: int, keys: ProfileKeys | None) -> tuple[str, Attributes]:
    """Return the update of a profile and its values. Pass `keys` for a change that `seals_fields`."""
    # Defaults are not stored.
    given = {
        _NAME: _sealed(_NAME, change.display_name, keys),
        _AVATAR: _sealed(_AVATAR, change.avatar_uri, keys),
        EMAIL: _sealed(EMAIL, change.email, keys),
        # A refusal belongs to the address before.
        REFUSED: UNSET if change.email is UNSET else None,
        "locale": change.locale,
        "last_seen": None if change.last_seen == "members" else change.last_seen,
        "phone_search": None if change.phone_search == "everyone" else change.phone_search,
    }
    values: dict[str, ItemValue] = {":now": format_ms(now_ms)}
    sets, removes = ["updated_at = :now"], []
    for name, value in given.items():
        if isinstance(value, str | bytes):
            sets.append(f"{name} = :{name}")
            values[f":{name}"] = value
        elif value is not UNSET:
            removes.append(name)
    update = "SET " + ", ".join(sets)
    return (f"{update} REMOVE {', '.join(removes)}" if removes else update), values


def seals_fields(change: ProfileChange) -> bool:
    return any(isinstance(value, str) for value in (change.display_name, change.avatar_uri, change.email))


def _sealed[T](name: str, value: T, keys: ProfileKeys | None) -> T | bytes:
    if not isinstance(value, str):
        return value
    if keys is None:
        raise ValueError(f"{name} is stored only sealed: pass the keys of the user")
    return keys.seal_field(name, value)


def user_from_item(item: Item, keys: ProfileKeys | None = None) -> User:
    """Return the user of an item. Without keys, the personal fields are None."""
    tenant, _, user = item["user_id"].partition("#")
    fields = {name: keys.open_field(name, sealed) for name, sealed in _sealed_fields(item)} if keys else {}
    phone = fields.get(_PHONE)
    return User(
        tenant=TenantId(tenant),
        user=UserId(user),
        phone=None if phone is None else Phone(phone),
        display_name=fields.get(_NAME),
        avatar_uri=fields.get(_AVATAR),
        email=fields.get(EMAIL),
        email_refused=EmailRefusal(item[REFUSED]) if REFUSED in item else None,
        locale=item.get("locale"),
        last_seen="nobody" if item.get("last_seen") == "nobody" else "members",
        phone_search="nobody" if item.get("phone_search") == "nobody" else "everyone",
        sessions_epoch=int(item.get("sessions_epoch", 0)),
        not_before_ms=parse_ms_or_none(item.get("not_before")),
        suspended_at_ms=parse_ms_or_none(item.get("suspended_at")),
        is_erased=ERASED in item,
        created_at_ms=parse_ms(item["created_at"]),
        updated_at_ms=parse_ms(item["updated_at"]),
    )


async def open_users(
    provider: ProfileKeyProvider, tenant: TenantId, items: Collection[Item]
) -> Mapping[UserId, User]:
    """Open the personal fields of these users, with one batch of key reads. Rows without such fields need none."""
    rows = {user_of_item(item): item for item in items}
    fields = [(user, sealed) for user, item in rows.items() for _, sealed in _sealed_fields(item)]
    keys = await provider.fields_of(tenant, fields) if fields else {}
    return {user: user_from_item(item, keys.get(user)) for user, item in rows.items()}


def user_of_item(item: Item) -> UserId:
    return UserId(item["user_id"].partition("#")[2])


def _sealed_fields(item: Item) -> list[tuple[str, bytes]]:
    """Return the sealed fields of an item. A field in clear was not written by Tidings and is ignored."""
    return [(name, item[name]) for name in _PERSONAL if isinstance(item.get(name), bytes)]
