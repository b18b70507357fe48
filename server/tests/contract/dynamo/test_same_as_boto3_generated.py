"""The same answers as boto3 for random calls: values, conditions and orders."""

import asyncio
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from contract.dynamo.by_boto3 import call_by_boto3
from contract.dynamo.by_us import call_by_us
from contract.dynamo.calls import Call, Update
from contract.dynamo.conftest import REGION, ScratchTable
from contract.dynamo.drawn import drawn_item, drawn_value
from contract.dynamo.patterns import (
    BATCH_GET,
    BATCH_WRITE,
    DELETE,
    GET,
    PUT,
    QUERY,
    TABLE,
    TRANSACT_WRITE,
    UPDATE,
)

from tidings.platform.dynamo.open_client import open_client
from tidings.platform.dynamo.requests import Check, Delete, Put, Query, TransactAction
from tidings.platform.dynamo.requests import Update as UpdateAction

CALLS = 250
PLACES = 4
CONDITIONS = (None, None, "attribute_not_exists(pk)", "attribute_exists(pk)", "attribute_exists(v0)")


class Caller:
    """Draws calls on a handful of keys, so that they meet each other."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def call(self) -> Call:
        kinds = (self._put, self._put, self._update, self._delete, self._get, self._query)
        several = (self._batch_get, self._batch_write, self._transact_write)
        return self._random.choice(kinds + several)()

    def _key(self) -> dict[str, Any]:
        return {"pk": self._random.choice("ab"), "sk": self._random.randrange(PLACES)}

    def _keys(self) -> list[dict[str, Any]]:
        places = [{"pk": pk, "sk": sk} for pk in "ab" for sk in range(PLACES)]
        return self._random.sample(places, self._random.randint(1, 5))

    def _item(self, key: dict[str, Any]) -> dict[str, Any]:
        return drawn_item(self._random) | key

    def _condition(self) -> str | None:
        return self._random.choice(CONDITIONS)

    def _put(self) -> Call:
        returns = self._random.choice(("NONE", "ALL_OLD"))
        return Call(PUT, self._item(self._key()), {"condition": self._condition(), "returns": returns})

    def _update(self) -> Call:
        options = {
            "condition": self._condition(),
            "values": {":v": drawn_value(self._random)},
            "returns": self._random.choice(("ALL_OLD", "ALL_NEW", "UPDATED_NEW")),
        }
        verb = self._random.choice(("SET v0 = :v", "SET v1 = :v REMOVE v0", "ADD v2 :v"))
        return Call(UPDATE, Update(self._key(), verb), options)

    def _delete(self) -> Call:
        return Call(DELETE, self._key(), {"condition": self._condition(), "returns": "ALL_OLD"})

    def _get(self) -> Call:
        return Call(GET, self._key())

    def _query(self) -> Call:
        return Call(
            QUERY,
            Query(
                condition="pk = :p",
                values={":p": self._random.choice("abc")},
                backward=self._random.random() < 0.5,
                limit=self._random.choice((None, 1, 3)),
            ),
        )

    def _batch_get(self) -> Call:
        return Call(BATCH_GET, self._keys())

    def _batch_write(self) -> Call:
        keys = self._keys()
        half = len(keys) // 2
        return Call(BATCH_WRITE, {"puts": [self._item(key) for key in keys[:half]], "deletes": keys[half:]})

    def _transact_write(self) -> Call:
        return Call(TRANSACT_WRITE, [self._action(key) for key in self._keys()])

    def _action(self, key: dict[str, Any]) -> TransactAction:
        condition = self._condition()
        match self._random.randrange(4):
            case 0:
                return Put(table=TABLE, item=self._item(key), condition=condition)
            case 1:
                values = {":v": drawn_value(self._random)}
                return UpdateAction(
                    table=TABLE, key=key, update="SET v0 = :v", values=values, condition=condition
                )
            case 2:
                return Delete(table=TABLE, key=key, condition=condition)
            case _:
                return Check(table=TABLE, key=key, condition=condition or "attribute_exists(pk)")


@pytest.mark.parametrize("seed", range(2))
def test_random_calls_have_the_same_outcomes(place: ScratchTable, seed: int) -> None:
    caller = Caller(seed)

    async def check() -> set[str]:
        codes = set()
        async with open_client(place.engine.url, REGION, place.ours) as client:
            for _ in range(CALLS):
                call = caller.call()
                ours = await call_by_us(client, call)
                theirs = call_by_boto3(place.boto3, place.their_table, call)
                message = theirs.message.replace(place.theirs, place.ours)
                assert ours == replace(theirs, message=message), f"after {call}"
                codes.add(ours.code)
        return codes

    assert {"", "ConditionalCheckFailedException", "TransactionCanceledException"} <= asyncio.run(check())
