"""Write one history for each epoch of a run with restores: a sequence means another entry after a restore.

Sends are carried over to the next epoch, because the backup may contain them or an outbox may send them again. Their
acknowledgements are carried over if they precede the backup. A restore loses all other events by definition.
"""

from pathlib import Path
from typing import final

from tidings_harness.history.events import EventKind, Outcome
from tidings_harness.history.loader import load_history
from tidings_harness.history.recorder import Recorder


def directories(directory: Path) -> list[Path]:
    """Return the histories of all epochs in order."""
    return [directory, *sorted(directory.glob("epoch-*"))]


@final
class Epochs:
    """The recorders of all epochs. `copied_ns` is the start of the backup that may be restored; 0 if there is none."""

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
