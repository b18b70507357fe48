"""Dead letters: count, list, inspect, replay and drop."""

from base64 import b64encode
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Depends, Path, Query

from tidings.api.console.policy import ConsoleRoute, Reach, allow
from tidings.api.console.session import AsOperator
from tidings.api.schemas.api_model import ApiModel, Cursor, Time
from tidings.dead_letters.model import DeadLetter, DeadLetterMark, DeadLetterPosition
from tidings.kernel.action_notes import note_change
from tidings.kernel.clock import format_ms
from tidings.kernel.ids import TenantId
from tidings.operators.model import Role

router = APIRouter(prefix="/admin/v1/dead-letters", route_class=ConsoleRoute, tags=["dead letters"])
_LETTER: Final = "/{topic}/{partition}/{offset}"
_MAX_SHOWN_BYTES: Final = 16 * 1024


class DeadLetterTopicRow(ApiModel):
    """`waiting`: dead letters that were neither replayed nor dropped."""

    topic: str
    replays_to: str
    waiting: int


class DeadLetterTopicsResponse(ApiModel):
    topics: list[DeadLetterTopicRow]


class DeadLetterRow(ApiModel):
    """A dead letter without its content. `source`: topic, partition and offset where it could not be decoded."""

    topic: str
    partition: int
    offset: int
    dead_since: Time
    reason: str
    source: str
    key: str | None = None
    bytes: int
    headers: list[str]
    state: Literal["waiting", "replayed", "dropped"] = "waiting"
    handled_at: Time | None = None

    @classmethod
    def of(cls, letter: DeadLetter, mark: DeadLetterMark | None = None) -> "DeadLetterRow":
        return cls(
            topic=letter.position.topic,
            partition=letter.position.partition,
            offset=letter.position.offset,
            dead_since=format_ms(letter.at_ms),
            reason=letter.reason,
            source=letter.source,
            key=letter.key_text,
            bytes=letter.size_bytes,
            headers=[name for name, _ in letter.headers],
            state="waiting" if mark is None else mark.action.value,
            handled_at=None if mark is None else format_ms(mark.at_ms),
        )


class DeadLettersResponse(ApiModel):
    letters: list[DeadLetterRow]
    cursor: Cursor | None = None


class DeadLetterContentResponse(ApiModel):
    """The first 16 KiB of the record: as text if they are UTF-8, else in base64."""

    encoding: Literal["text", "base64"]
    content: str
    is_complete: bool


class DeadLettersParams(ApiModel):
    limit: Annotated[int, Query(ge=1, le=100, strict=False)] = 50
    cursor: Cursor | None = None


def _position(
    topic: str,
    partition: Annotated[int, Path(ge=0, le=99_999)],
    offset: Annotated[int, Path(ge=0, le=10**15 - 1)],
) -> DeadLetterPosition:
    return DeadLetterPosition(topic, partition, offset)


type PositionInPath = Annotated[DeadLetterPosition, Depends(_position)]


@router.get("", **allow("count_dead_letters", Role.VIEWER, Reach.INSTALLATION, is_recorded=False))
async def count_dead_letters(call: AsOperator) -> DeadLetterTopicsResponse:
    """Count the dead letters of each topic."""
    found = await call.context.services.dead_letters.counts()
    return DeadLetterTopicsResponse(topics=[DeadLetterTopicRow(**each._asdict()) for each in found])


@router.get("/{topic}", **allow("list_dead_letters", Role.VIEWER, Reach.INSTALLATION, is_recorded=False))
async def list_dead_letters(
    call: AsOperator, topic: str, asked: Annotated[DeadLettersParams, Query()]
) -> DeadLettersResponse:
    """List the dead letters of a topic that wait for an operator, without their content."""
    cursors = call.context.cursors.of(TenantId(""), None, "list_dead_letters", topic)
    start = cursors.read(asked.cursor)
    page = await call.context.services.dead_letters.page(
        topic, asked.limit, None if start is None else DeadLetterPosition.parse(start)
    )
    return DeadLettersResponse(
        letters=[DeadLetterRow.of(each) for each in page.letters],
        cursor=cursors.write(None if page.next is None else str(page.next)),
    )


@router.get(_LETTER, **allow("get_dead_letter", Role.VIEWER, Reach.INSTALLATION, is_recorded=False))
async def get_dead_letter(call: AsOperator, position: PositionInPath) -> DeadLetterRow:
    """Get a dead letter and its state, without its content."""
    return DeadLetterRow.of(*await call.context.services.dead_letters.find(position))


@router.post(
    f"{_LETTER}/content",
    **allow("read_dead_letter", Role.OPERATOR, Reach.INSTALLATION, needs_reason=True, is_recorded=True),
)
async def read_dead_letter(call: AsOperator, position: PositionInPath) -> DeadLetterContentResponse:
    """Read the content of a dead letter. The audit log keeps the operator, the position and the reason."""
    letter, _ = await call.context.services.dead_letters.find(position)
    note_change(None, {"read": str(position)})
    value = letter.value or b""
    shown = value[:_MAX_SHOWN_BYTES]
    is_complete = len(shown) == len(value)
    try:
        return DeadLetterContentResponse(encoding="text", content=shown.decode(), is_complete=is_complete)
    except UnicodeDecodeError:
        encoded = b64encode(shown).decode()
        return DeadLetterContentResponse(encoding="base64", content=encoded, is_complete=is_complete)


@router.post(
    f"{_LETTER}/replay",
    status_code=204,
    **allow("replay_dead_letter", Role.OPERATOR, Reach.INSTALLATION, needs_reason=True, is_recorded=True),
)
async def replay_dead_letter(call: AsOperator, position: PositionInPath) -> None:
    """Publish a dead letter again to the topic that it came from."""
    await call.context.services.dead_letters.replay(position)


@router.post(
    f"{_LETTER}/drop",
    status_code=204,
    **allow("drop_dead_letter", Role.OPERATOR, Reach.INSTALLATION, needs_reason=True, is_recorded=True),
)
async def drop_dead_letter(call: AsOperator, position: PositionInPath) -> None:
    """Remove a dead letter from the list without a replay."""
    await call.context.services.dead_letters.drop(position)
