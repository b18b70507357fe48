"""Reports and reviews in DynamoDB."""

from collections.abc import Sequence
from heapq import merge
from itertools import islice

from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatId, ChatKey, TenantId, UserId
from tidings.messages.ports import KeyProvider
from tidings.moderation.model import (
    RETENTION_S,
    Decision,
    Report,
    ReportReason,
    Review,
    ReviewAction,
    ReviewPage,
    ReviewQueue,
    ReviewState,
    ReviewTarget,
    user_target,
)
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.codec import Attributes, Item, ItemValue
from tidings.platform.dynamo.errors import (
    TransactionCancelledError,
    condition_held,
    translate_read_errors,
    translate_write_errors,
)
from tidings.platform.dynamo.requests import Put, Query, TransactAction, Update
from tidings.schema.tables.items.moderation import (
    DECISION,
    QUEUE,
    QUEUE_SHARDS,
    REPORTS_OF_TARGET,
    TARGET,
    queue_keys,
    report_key,
    review_key,
)
from tidings.schema.tables.patterns import moderation as patterns

_TABLE = "reports"
_SEALED_AT = 1
_ABSENT = "attribute_not_exists(target)"
_AS_SEEN = "review_state = :seen"


class DynamoReviewStore:
    """`keys`: seal the texts of reports with the key of their reporter, so that an erased user leaves none."""

    def __init__(self, client: DynamoClient, keys: KeyProvider) -> None:
        self._client = client
        self._keys = keys

    async def find(self, target: ReviewTarget, /) -> Review | None:
        with translate_read_errors:
            item = await self._client.get(patterns.READ_REVIEW, dict(review_key(*target)))
        return None if item is None else _review_from_item(target, item)

    async def add_report(self, seen: Review | None, after: Review, report: Report, /) -> bool:
        row = Put(table=_TABLE, item=await self._report_item(after.target, report), condition=_ABSENT)
        with translate_write_errors:
            try:
                # Repeatable: a second attempt finds its own report, and counts nothing.
                await self._client.transact_write(
                    patterns.ADD_REPORT, [row, _counted(seen, after, report)], repeatable=True
                )
            except TransactionCancelledError as cancelled:
                if cancelled.reasons[0].is_condition:
                    return False
                if cancelled.reasons[1].is_condition:
                    raise TidingsError(
                        Code.WRITE_CONFLICT, "The review was changed at the same time."
                    ) from None
                raise
        return True

    async def change(self, seen: Review, state: ReviewState, decision: Decision | None, /) -> bool:
        target = seen.target
        is_decided = state is ReviewState.DECIDED
        at_ms = decision.at_ms if decision is not None and is_decided else seen.opened_ms
        queue = ReviewQueue.DECIDED if is_decided else ReviewQueue.WAITING
        values: dict[str, ItemValue] = {":state": state.value, **_condition_values(seen)}
        names = ["review_state = :state"]
        for name, value in queue_keys(target.tenant, queue, at_ms, target.id).items():
            values[f":{name}"] = value
            names.append(f"{name} = :{name}")
        if decision is not None:
            given = _decision_attributes(decision)
            values |= {f":{name}": value for name, value in given.items()}
            values[":ttl"] = _ttl(max(decision.at_ms, seen.reported_ms))
            names += [f"{name} = :{name}" for name in given] + ["#ttl = :ttl"]
        removed = "" if decision is not None else f" REMOVE {', '.join(DECISION)}"
        with translate_write_errors:
            return await condition_held(
                self._client.update(
                    patterns.CHANGE_REVIEW,
                    dict(review_key(*target)),
                    f"SET {', '.join(names)}{removed}",
                    condition=_condition(seen),
                    values=values,
                    names=None if decision is None else {"#ttl": "ttl"},
                    repeatable=True,
                )
            )

    async def page(
        self, tenant: TenantId, queue: ReviewQueue, after: str | None, limit: int, /
    ) -> ReviewPage:
        is_backward = queue is ReviewQueue.DECIDED
        shards: list[list[str]] = []
        with translate_read_errors:
            for shard in range(QUEUE_SHARDS):
                key = QUEUE.render(tenant=tenant, queue=queue, shard=shard)
                page = await self._client.query(
                    patterns.LIST_QUEUE, _queue_query(key, after, limit, is_backward=is_backward)
                )
                shards.append([item["queued_at"] for item in page.items])
        listed = list(islice(merge(*shards, reverse=is_backward), limit))
        last = listed[-1] if len(listed) == limit else None
        return ReviewPage(await self._listed(tenant, queue, listed), last)

    async def _listed(self, tenant: TenantId, queue: ReviewQueue, listed: list[str]) -> list[Review]:
        """Read the reviews of a page. The index is eventually consistent: those that have left the queue are left out."""
        targets = [ReviewTarget(tenant, queued_at.partition("#")[2]) for queued_at in listed]
        keys: list[Attributes] = [dict(review_key(*each)) for each in targets]
        if not keys:
            return []
        with translate_read_errors:
            items = await self._client.batch_get(patterns.READ_REVIEWS, keys)
        found = {item["queued_at"]: item for item in items}
        reviews = [
            _review_from_item(target, found[at])
            for target, at in zip(targets, listed, strict=True)
            if at in found
        ]
        return [each for each in reviews if each.queue is queue]

    async def reports(self, target: ReviewTarget, limit: int, /) -> Sequence[Report]:
        query = Query(
            condition="target = :target AND begins_with(#item, :report)",
            values={
                ":target": TARGET.render(tenant=target.tenant, review=target.id),
                ":report": REPORTS_OF_TARGET,
            },
            names={"#item": "item"},
            limit=limit,
        )
        with translate_read_errors:
            items = (await self._client.query(patterns.LIST_REPORTS, query)).items
        sealed = [(_reporter(item), item["report_text"]) for item in items if "report_text" in item]
        keys = await self._keys.to_read(target.tenant, sealed)
        place = _place(target)
        found: list[Report] = []
        for item in items:
            text = item.get("report_text")
            read = None if text is None else keys.unseal(place, _SEALED_AT, _reporter(item), text)
            found.append(
                Report(
                    reporter=_reporter(item),
                    reason=ReportReason(item["reason"]),
                    at_ms=int(item["created_ms"]),
                    text=None if read is None else read.decode(),
                )
            )
        return found

    async def delete_user(self, tenant: TenantId, user: UserId, /) -> None:
        target = user_target(tenant, user)
        query = Query(
            condition="target = :target",
            values={":target": TARGET.render(tenant=tenant, review=target.id)},
            names={"#item": "item"},
            projection="target, #item",
        )
        with translate_write_errors:
            async for page in self._client.pages(patterns.LIST_TARGET, query):
                if page.items:
                    await self._client.batch_write(
                        patterns.DELETE_TARGET, deletes=page.items, repeatable=True
                    )

    async def _report_item(self, target: ReviewTarget, report: Report) -> Attributes:
        item: dict[str, ItemValue] = {
            **report_key(target.tenant, target.id, report.reporter),
            "reason": report.reason.value,
            "created_ms": report.at_ms,
            "ttl": _ttl(report.at_ms),
        }
        if report.text:
            keys = await self._keys.of(target.tenant, report.reporter)
            item["report_text"] = keys.seal(_place(target), _SEALED_AT, report.text.encode())
        return item


def _place(target: ReviewTarget) -> ChatKey:
    """Return the place that the text of a report is sealed for. Ids of chats do not start like ids of reviews."""
    return ChatKey(target.tenant, ChatId(target.id))


def _counted(seen: Review | None, after: Review, report: Report) -> TransactAction:
    """Return the write that counts a report. Counts are added, so reports of an open review do not conflict."""
    target = after.target
    queued = queue_keys(target.tenant, ReviewQueue.WAITING, after.opened_ms, target.id)
    if seen is None:
        return Put(table=_TABLE, item=new_review_item(after, queued), condition=_ABSENT)
    values: dict[str, ItemValue] = {
        ":one": 1,
        ":reasons": frozenset({report.reason.value}),
        ":now": report.at_ms,
        ":ttl": _ttl(report.at_ms),
        **_condition_values(seen),
    }
    sets, removed = ["reported_ms = :now", "#ttl = :ttl"], ""
    if seen.state is ReviewState.DECIDED:
        sets += ["review_state = :state", "opened_ms = :now", "queue_shard = :shard", "queued_at = :at"]
        values |= {":state": after.state.value, ":shard": queued["queue_shard"], ":at": queued["queued_at"]}
        removed = f" REMOVE {', '.join(DECISION)}"
    return Update(
        table=_TABLE,
        key=dict(review_key(*target)),
        update=f"SET {', '.join(sets)}{removed} ADD report_count :one, reasons :reasons",
        condition=_condition(seen),
        values=values,
        names={"#ttl": "ttl"},
    )


def new_review_item(review: Review, queued: dict[str, str]) -> Attributes:
    return {
        **review_key(*review.target),
        **queued,
        "review_state": review.state.value,
        "author_id": review.author,
        "report_count": review.count,
        "reasons": frozenset(each.value for each in review.reasons),
        "opened_ms": review.opened_ms,
        "reported_ms": review.reported_ms,
        "ttl": _ttl(review.reported_ms),
    }


def _condition(seen: Review) -> str:
    decided = "attribute_not_exists(decision_id)" if seen.decision is None else "decision_id = :decision"
    return f"{_AS_SEEN} AND {decided}"


def _condition_values(seen: Review) -> dict[str, ItemValue]:
    values: dict[str, ItemValue] = {":seen": seen.state.value}
    return values if seen.decision is None else values | {":decision": seen.decision.id}


def _decision_attributes(decision: Decision) -> dict[str, ItemValue]:
    given: dict[str, ItemValue | None] = {
        "decision_id": decision.id,
        "decision_action": decision.action.value,
        "decided_by": decision.by,
        "decided_ms": decision.at_ms,
        "until_ms": decision.until_ms,
        "decision_reason": decision.reason,
    }
    return {name: value for name, value in given.items() if value is not None}


def _queue_query(key: str, after: str | None, limit: int, *, is_backward: bool) -> Query:
    condition, values = "queue_shard = :shard", {":shard": key}
    if after is not None:
        condition += f" AND queued_at {'<' if is_backward else '>'} :after"
        values[":after"] = after
    return Query(condition=condition, values=values, limit=limit, backward=is_backward)


def _review_from_item(target: ReviewTarget, item: Item) -> Review:
    return Review(
        target=target,
        state=ReviewState(item["review_state"]),
        author=UserId(item["author_id"]),
        count=int(item["report_count"]),
        reasons=frozenset(ReportReason(each) for each in item["reasons"]),
        opened_ms=int(item["opened_ms"]),
        reported_ms=int(item["reported_ms"]),
        decision=_decision_from_item(item) if "decision_id" in item else None,
    )


def _decision_from_item(item: Item) -> Decision:
    until_ms = item.get("until_ms")
    return Decision(
        id=item["decision_id"],
        action=ReviewAction(item["decision_action"]),
        by=item["decided_by"],
        at_ms=int(item["decided_ms"]),
        until_ms=None if until_ms is None else int(until_ms),
        reason=item.get("decision_reason"),
    )


def _reporter(item: Item) -> UserId:
    return UserId(item["item"].removeprefix(REPORTS_OF_TARGET))


def _ttl(at_ms: int) -> int:
    return at_ms // 1000 + RETENTION_S
