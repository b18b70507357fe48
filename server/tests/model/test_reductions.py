"""The reductions of `append.py` are sound: the unreduced model holds too, and the same mutants are caught."""

import pytest
from model.append import WRITERS, Append, State, Steps, _with_view
from model.checks import Mutant, Scenario, View
from model.explore import explore
from model.log import CREATE, EDIT, JOIN, LEAVE, M_OTHER, Cast, M

pytestmark = pytest.mark.long
RETURN = Scenario(Cast((CREATE, M, LEAVE, JOIN)), (0, 2, 1, 1), (0, 0, 0, 2))
CONTENT = Scenario(Cast((CREATE, M, M_OTHER, EDIT)), (0, 2, 1, 1), (0, 0, 0, 1))


class Unreduced(Append):
    """Either writer may be the first, and views move in separate steps."""

    def _writers(self, state: State) -> range:
        del state
        return range(2)

    def _views(self, state: State, number: int, writer: int) -> list[View]:
        view = state.views[writer]
        may_decide = view.head >= state.sends[number].after or self.mutant is Mutant.BELOW_AFTER
        return [view] if may_decide else []

    def steps(self, state: State) -> Steps:
        yield from super().steps(state)
        for writer, (head, missed) in enumerate(state.views):
            for seen in self._next_heads(head, len(state.log)):
                view = View(seen, (*missed, *range(head + 1, seen)))
                yield (WRITERS[writer], "moves to", seen), _with_view(state, writer, view)

    def _next_heads(self, head: int, last: int) -> range:
        return range(head + 1, last + 1 if self.mutant is Mutant.VIEW_JUMPS else min(head + 1, last) + 1)


@pytest.mark.parametrize("scenario", [RETURN, CONTENT], ids=["return", "content"])
def test_without_the_reductions_there_are_more_states_and_they_hold(scenario: Scenario) -> None:
    reduced, whole = explore(Append(scenario)), explore(Unreduced(scenario))
    assert reduced.breach is None
    assert whole.breach is None
    assert reduced.states < whole.states


@pytest.mark.parametrize("mutant", Mutant, ids=lambda mutant: mutant.name)
def test_a_mutant_is_caught_with_and_without_the_reductions(mutant: Mutant) -> None:
    scenario = CONTENT if mutant in {Mutant.CONTENT_IGNORED, Mutant.EDITED_CONTENT} else RETURN
    reduced, whole = explore(Append(scenario, mutant)).breach, explore(Unreduced(scenario, mutant)).breach
    assert (reduced and reduced.invariant) == (whole and whole.invariant)
