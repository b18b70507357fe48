"""Apply a tenant's lists of words and links before a message is stored, then ask the tenant's before-send hook.

Both decide: a message that the lists refuse is not sent to the hook, and the hook receives masked text.
"""

from collections import OrderedDict
from typing import Final

import msgspec

from tidings.kernel.clock import Clock
from tidings.kernel.concurrency import retry_on_conflict
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId
from tidings.messages.model import FlaggedContent, Rejection, ReviewRequest
from tidings.messages.ports import BeforeSend
from tidings.moderation.rules import ContentMatcher
from tidings.tenants.model import ContentRules, TenantLookup, TenantStore

MAX_RULES_BYTES: Final = 8 * 1024
"""As JSON: a process reads the settings of a tenant again every 30 seconds."""
_MAX_TENANTS: Final = 1_000
_NOTHING: Final = ContentRules()
# As content is stored: with sorted keys.
_encode = msgspec.json.Encoder(order="sorted").encode


class ContentFilter:
    """Use it from one event loop."""

    def __init__(self, tenants: TenantLookup, hook: BeforeSend) -> None:
        self._tenants = tenants
        self._hook = hook
        self._matchers: OrderedDict[TenantId, tuple[ContentRules, ContentMatcher]] = OrderedDict()

    async def review(self, request: ReviewRequest, /) -> bytes | FlaggedContent | Rejection:
        tenant = await self._tenants.find(request.chat.tenant)
        rules = _NOTHING if tenant is None else tenant.settings.content
        if rules == _NOTHING:
            return await self._hook.review(request)
        content = msgspec.json.decode(request.body)
        text = content.get("text", "")
        verdict = self._matcher(request.chat.tenant, rules).check(text)
        if verdict.is_refused:
            return Rejection("The message contains a word or a link that is not allowed here.")
        if verdict.text != text:
            request = request._replace(body=_encode(content | {"text": verdict.text}))
        reviewed = await self._hook.review(request)
        return FlaggedContent(reviewed) if verdict.is_flagged and isinstance(reviewed, bytes) else reviewed

    def _matcher(self, tenant: TenantId, rules: ContentRules) -> ContentMatcher:
        """Return the compiled lists, which are compiled again after a change."""
        known = self._matchers.get(tenant)
        if known is None or known[0] != rules:
            known = self._matchers[tenant] = (rules, ContentMatcher(rules))
            if len(self._matchers) > _MAX_TENANTS:
                self._matchers.popitem(last=False)
        return known[1]


class ContentRulesService:
    """Read and replace the lists of a tenant. Processes use a change within `accounts.tenant_refresh_s`."""

    def __init__(self, tenants: TenantStore, clock: Clock) -> None:
        self._tenants = tenants
        self._clock = clock

    async def read(self, tenant: TenantId) -> ContentRules:
        found = await self._tenants.read(tenant)
        return _NOTHING if found is None else found.settings.content

    async def set(self, tenant: TenantId, rules: ContentRules) -> None:
        size = len(_encode(rules))
        if size > MAX_RULES_BYTES:
            raise TidingsError(
                Code.REQUEST_INVALID, f"The lists have {size} bytes; {MAX_RULES_BYTES} are allowed."
            )

        async def step() -> None:
            found = await self._tenants.read(tenant)
            if found is None:
                raise TidingsError(Code.REQUEST_INVALID, f"Tenant {tenant} does not exist.")
            settings = msgspec.structs.replace(found.settings, content=rules)
            if not await self._tenants.update(tenant, settings, found.version, self._clock.now_ms()):
                raise TidingsError(Code.WRITE_CONFLICT, "The settings were changed at the same time.")

        await retry_on_conflict(step)
