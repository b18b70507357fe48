"""Errors that DynamoDB returns under load and local engines never do: throttling, conflicts, internal errors."""

from dataclasses import dataclass
from enum import StrEnum
from typing import override

from faults.proxy.aws_answers import cancelled, capital_error, error
from faults.proxy.dynamo_request import TRANSACTIONS, WRITES, Request
from faults.proxy.fault import Exchange, Fault
from faults.proxy.reply import Reply

type Reason = dict[str, str]

NO_REASON: Reason = {"Code": "None"}


class Throttled(StrEnum):
    """Why a request is throttled.

    By the provisioned capacity of a table, or by the current limit of an on-demand table or account.
    """

    PROVISIONED = "ProvisionedThroughputExceededException"
    ON_DEMAND = "ThrottlingException"


_WORDS = {
    Throttled.PROVISIONED: "The level of configured provisioned throughput for the table was exceeded. "
    "Consider increasing your provisioning level with the UpdateTable API.",
    Throttled.ON_DEMAND: "Throughput exceeds the current capacity of your table or index. DynamoDB is "
    "automatically scaling your table or index so please try again shortly. If exceptions persist, check "
    "if you have a hot key.",
}
_REASON_CODES = {
    Throttled.PROVISIONED: "ProvisionedThroughputExceeded",
    Throttled.ON_DEMAND: "ThrottlingError",
}


def throttled(kind: Throttled = Throttled.PROVISIONED) -> Reply:
    return error(kind, _WORDS[kind])


@dataclass(frozen=True, slots=True)
class Throttle(Fault):
    """Reject a request without applying it. `items` are the items of a transaction that are given as the reason.

    A transaction is cancelled with reasons, as on AWS. With `whole_call` it gets the plain error that AWS returns if
    it throttles the call before it reads the items.
    """

    kind: Throttled = Throttled.PROVISIONED
    items: tuple[int, ...] = (0,)
    whole_call: bool = False

    @override
    async def apply(self, exchange: Exchange) -> Reply:
        if exchange.request.operation not in TRANSACTIONS or self.whole_call:
            return throttled(self.kind)
        reason = {"Code": _REASON_CODES[self.kind], "Message": _WORDS[self.kind]}
        return cancelled(_reasons(exchange.request, self.items, reason))


@dataclass(frozen=True, slots=True)
class Conflict(Fault):
    """Reject a request because another transaction holds one of its items.

    Fits transactions and writes of one item; no other call can have a conflict on AWS. `items` are the items of a
    transaction that are given as the reason.
    """

    items: tuple[int, ...] = (0,)

    @override
    def fits(self, request: Request) -> bool:
        return request.operation in TRANSACTIONS | WRITES

    @override
    async def apply(self, exchange: Exchange) -> Reply:
        text = "Transaction is ongoing for the item"
        if exchange.request.operation in WRITES:
            return error("TransactionConflictException", text)
        return cancelled(
            _reasons(exchange.request, self.items, {"Code": "TransactionConflict", "Message": text})
        )


@dataclass(frozen=True, slots=True)
class InProgress(Fault):
    """Return TransactionInProgressException: a try with the same ClientRequestToken is still in progress.

    With `applied` the request is forwarded first, so that the earlier try has committed.
    """

    applied: bool = False

    @override
    def fits(self, request: Request) -> bool:
        return request.operation == "TransactWriteItems"

    @override
    async def apply(self, exchange: Exchange) -> Reply:
        if self.applied:
            await exchange.forward()
        text = "The transaction with the given request token is already in progress."
        return capital_error("TransactionInProgressException", text)


@dataclass(frozen=True, slots=True)
class InternalError(Fault):
    """Return InternalServerError, status 500.

    On AWS such a write may have been applied; `applied` selects whether it was.
    """

    applied: bool = False

    @override
    async def apply(self, exchange: Exchange) -> Reply:
        if self.applied:
            await exchange.forward()
        return error("InternalServerError", "Internal server error", status=500)


@dataclass(frozen=True, slots=True)
class Deny(Fault):
    """Reject each call that needs one of the actions, as IAM does under a policy that denies them.

    `actions` are names without the service. A transaction needs the actions of its parts.
    """

    actions: frozenset[str]

    @override
    def fits(self, request: Request) -> bool:
        return not self.actions.isdisjoint(_needed_actions(request))

    @override
    async def apply(self, exchange: Exchange) -> Reply:
        denied = min(self.actions & _needed_actions(exchange.request))
        text = (
            "User: arn:aws:sts::123456789012:assumed-role/tidings is not authorized to perform: "
            f"dynamodb:{denied} with an explicit deny in an identity-based policy"
        )
        return error("AccessDeniedException", text)


def _needed_actions(request: Request) -> frozenset[str]:
    if request.operation != "TransactWriteItems":
        return frozenset({request.operation})
    parts = {part for entry in request.body.get("TransactItems", ()) for part in entry}
    return frozenset(f"{part}Item" for part in parts)


def _reasons(request: Request, items: tuple[int, ...], reason: Reason) -> list[Reason]:
    count = len(request.body.get("TransactItems", ()))
    if any(item >= count for item in items):
        raise ValueError(f"items {items} are given as the reason, but the transaction has {count} items")
    return [reason if place in items else NO_REASON for place in range(count)]
