"""Mutants of the erasure of a user: each skips a part on purpose, and `just erasure-search` must catch every one.

The rows of the user in inboxes have no text, so no mutant leaves these: the contract tests compare their number.
"""

from collections.abc import Callable
from typing import Any, Final

from tidings.accounts.store.erasure import DynamoUserEraser
from tidings.erasure.data_steps import DataSteps
from tidings.erasure.model import STEP_DONE, Erasure, StepProgress
from tidings.messages.store import DynamoLogEraser
from tidings.tenants.store import DynamoUserKeyStore


async def _skip(*_: object) -> None:
    """Do nothing."""


async def _skip_step(self: DataSteps, erasure: Erasure) -> StepProgress:
    del self, erasure
    return STEP_DONE


def keeps_the_keys() -> None:
    """List the erasure, and leave the keys of the user."""
    DynamoUserKeyStore._destroy = _skip  # type: ignore[assignment,method-assign]


def keeps_the_documents() -> None:
    """Leave the user's messages in the search index."""
    DataSteps.search = _skip_step  # type: ignore[method-assign]


def keeps_the_files() -> None:
    """Leave the user's uploads with their names, and their export."""
    DataSteps.uploads = _skip_step  # type: ignore[method-assign]


def keeps_the_profile() -> None:
    """Leave the fields of the user's row. Their content is sealed, and the keys are destroyed."""
    DynamoUserEraser.empty = _skip  # type: ignore[method-assign]


def keeps_the_reasons() -> None:
    """Leave the reasons of bans in the rows of the banned users."""
    DynamoLogEraser._delete_reason = _skip  # type: ignore[assignment,method-assign]


ERASURE_MUTANTS: Final[dict[str, Callable[[], Any]]] = {
    each.__name__: each
    for each in (
        keeps_the_keys,
        keeps_the_documents,
        keeps_the_files,
        keeps_the_profile,
        keeps_the_reasons,
    )
}
