"""Sessions of operators in the table `tenants`, each with a MAC, so that write access to the table grants no session."""

from collections.abc import Callable
from hashlib import sha256
from hmac import digest

from tidings.kernel.clock import format_ms, parse_ms
from tidings.kernel.ids import TenantId
from tidings.kernel.security import Secret
from tidings.operators.model import Operator, OperatorSession, Role
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.codec import Item, ItemValue
from tidings.platform.dynamo.errors import condition_held, translate_read_errors, translate_write_errors
from tidings.platform.dynamo.protected_rows import AuthenticatedRows
from tidings.platform.dynamo.requests import Query
from tidings.schema.tables.items.accounts import OPERATOR_SESSION_KEY, OPERATOR_SESSIONS
from tidings.schema.tables.patterns import operators as patterns

_SYSTEM = TenantId("_system")
_DAY_S = 86_400


class SecretRowKeys:
    """A MAC key from a setting that all console processes share."""

    def __init__(self, secret: Secret) -> None:
        self._key = sha256(b"operator sessions|" + secret.reveal().encode()).digest()

    async def mac(self, tenant: TenantId, /) -> Callable[[bytes], bytes]:
        del tenant
        return lambda body: digest(self._key, body, "sha256")


class DynamoOperatorSessionStore:
    def __init__(self, client: DynamoClient, secret: Secret) -> None:
        self._client = client
        self._rows = AuthenticatedRows(SecretRowKeys(secret))

    async def add(self, session: OperatorSession, /) -> None:
        operator = session.operator
        item = _key(session.id) | {
            "operator": operator.id,
            "name": operator.name,
            "email": operator.email,
            "role": operator.role.value,
            "tenants": sorted(operator.tenants),
            "secret_hash": session.secret_hash,
            "created_at": format_ms(session.created_at_ms),
            "expires_at": format_ms(session.expires_at_ms),
            "ttl": session.expires_at_ms // 1000 + _DAY_S,
        }
        with translate_write_errors:
            await self._client.put(
                patterns.PUT_OPERATOR_SESSION,
                await self._rows.sign(_SYSTEM, item),
                condition="attribute_not_exists(tenant)",
            )

    async def find(self, session: str, /) -> OperatorSession | None:
        with translate_read_errors:
            item = await self._client.get(patterns.FIND_OPERATOR_SESSION, _key(session))
        verified = await self._rows.verified(_SYSTEM, item)
        return None if verified is None else _session_from_item(verified)

    async def list(self) -> list[OperatorSession]:
        query = Query(condition="tenant = :t", values={":t": OPERATOR_SESSIONS.render()})
        with translate_read_errors:
            pages = self._client.pages(patterns.LIST_OPERATOR_SESSIONS, query)
            items = [item async for page in pages for item in page.items]
        verified = [await self._rows.verified(_SYSTEM, item) for item in items]
        return [_session_from_item(item) for item in verified if item is not None]

    async def delete(self, session: str, /) -> bool:
        with translate_write_errors:
            return await condition_held(
                self._client.delete(
                    patterns.END_OPERATOR_SESSION,
                    _key(session),
                    condition="attribute_exists(tenant)",
                )
            )


def _key(session: str) -> dict[str, ItemValue]:
    return {"tenant": OPERATOR_SESSIONS.render(), "item": OPERATOR_SESSION_KEY.render(session=session)}


def _session_from_item(item: Item) -> OperatorSession:
    operator = Operator(
        id=item["operator"],
        name=item["name"],
        email=item["email"],
        role=Role(item["role"]),
        tenants=frozenset(item["tenants"]),
    )
    return OperatorSession(
        id=item["item"],
        operator=operator,
        secret_hash=item["secret_hash"],
        created_at_ms=parse_ms(item["created_at"]),
        expires_at_ms=parse_ms(item["expires_at"]),
    )
