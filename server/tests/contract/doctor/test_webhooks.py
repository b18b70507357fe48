"""The doctor lists webhook endpoints that were disabled or fail."""

from tidings.doctor.model import CheckState
from tidings.doctor.webhooks import find_webhook_problems
from tidings.kernel.ids import TenantId
from tidings.webhooks.model import Backlog, DisabledEndpoint, EndpointId, EndpointName

NAME = EndpointName(TenantId("acme"), EndpointId("01JCQ4Z7N3V5X9B2M8K6T1R0WD"))
NOW_MS = 1_794_700_000_000


def test_disabled_and_failing_endpoints_are_warnings_with_their_reason() -> None:
    disabled = [DisabledEndpoint(NAME, "It answered 410 (gone).", NOW_MS)]
    failing = [Backlog(endpoint=NAME, version=1, failing_ms=NOW_MS - 3_600_000)]
    found = list(find_webhook_problems(disabled, failing, NOW_MS))
    assert [finding.state for finding in found] == [CheckState.WARNING] * 2
    assert "410" in found[0].details[0]
    assert "acme" in found[1].details[0]


def test_events_that_wait_for_a_short_time_are_no_problem() -> None:
    waiting = [
        Backlog(endpoint=NAME, version=1),
        Backlog(endpoint=NAME, version=1, failing_ms=NOW_MS - 60_000),
    ]
    [finding] = find_webhook_problems([], waiting, NOW_MS)
    assert finding.state is CheckState.OK
