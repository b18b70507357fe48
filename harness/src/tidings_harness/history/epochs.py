"""A run over a restore is a history for each epoch: sequences of one mean other entries than those of the next.

What was sent is carried over, because it may stand in the copy or come again from an outbox; that it was acknowledged is
carried over if it was before the copy was made. The rest is lost by definition.
"""

from pathlib import Path
from typing import final

from tidings_harness.history.events import EventKind, Outcome
from tidings_harness.history.loader import load_history
from tidings_harness.history.recorder import Recorder


def directories(directory: Path) -> list[Path]:
    """The first epoch's, and those that followed, in their order."""
    return [directory, *sorted(directory.glob("epoch-*"))]


@final
class Epochs:
    """`copied_ns`: when the copy was begun that may be put back; 0: none was, or nobody knows."""

    def __init__(self, directory: Path, writer: int) -> None:
        self._directory, self._writer = directory, writer
        self._recorders = [Recorder(directory, writer)]
        self._places = [directory]
        self.copied_ns = 0

    @property
    def first(self) -> Recorder:
        return self._recorders[0]

    def following(self, before: Recorder) -> Recorder:
        before.flush()
        place = self._directory / f"epoch-{len(self._places):03}"
        place.mkdir()
        recorder = Recorder(place, self._writer, after=before)
        _carry(self._places[-1], recorder, self.copied_ns)
        self._places.append(place)
        self._recorders.append(recorder)
        return recorder

    def close(self) -> None:
        for recorder in self._recorders:
            recorder.__exit__()


def _carry(before: Path, recorder: Recorder, copied_ns: int) -> None:
    history = load_history(before)
    for kind in (EventKind.SEND, EventKind.SENT):
        for event in history.of(kind):
            outcome, at_ns = Outcome(event["outcome"]), int(event["at_ns"])
            if kind is EventKind.SEND or outcome is Outcome.FAILED or (outcome and at_ns <= copied_ns):
                recorder.carry(
                    kind,
                    at_ns=at_ns,
                    device=history.names[event["device"]],
                    chat=history.names[event["chat"]],
                    message=int(event["message"]),
                    sequence=int(event["sequence"]),
                    outcome=outcome,
                )
    recorder.flush()
