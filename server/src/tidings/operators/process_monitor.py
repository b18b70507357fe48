"""Watch the processes of the installation through their admin ports: readiness, and series of metrics.

Each console process polls on its own and keeps the last hours in memory, so a restart starts with empty series.
"""

import asyncio
import json
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final, Protocol

from msgspec import Struct
from prometheus_client.parser import text_string_to_metric_families

from tidings.kernel.action_notes import note_change
from tidings.kernel.clock import Clock, format_ms
from tidings.kernel.errors import Code, TidingsError, UnavailableError
from tidings.kernel.security import Secret

STEP_S: Final = 15.0
KEPT_POINTS: Final = 720
"""Three hours."""
MAX_SERIES: Final = 2_000
SHOWN: Final[Mapping[str, str]] = {
    "tidings_process_ready": "1 while the process is ready.",
    "tidings_socket_open": "Open connections of a gateway.",
    "tidings_socket_devices": "Connected devices of a gateway.",
    "tidings_delivery_lag_records": "Records that delivery has not processed.",
    "tidings_notifications_lag_chunks": "Chunks of notifications that are not processed.",
    "tidings_relay_lag_seconds": "Age of the newest entry that the relay has read.",
    "tidings_relay_waiting": "Commits without a delivery checkpoint yet.",
    "tidings_relay_unhandled_seconds": "Age of the oldest commit without a delivery checkpoint.",
    "tidings_http_requests_total": "Requests of the REST API.",
    "tidings_http_statuses_total": "Responses by HTTP status.",
    "tidings_rate_limit_decisions_total": "Decisions of rate limits.",
    "tidings_dynamo_errors_total": "Failed calls of DynamoDB.",
    "tidings_socket_refused_total": "Refused connections.",
}
"""Metrics of which series are kept. A counter, `…_total`, is shown as its rate per second."""

_GATEWAY: Final = "gateway"

type SeriesKey = tuple[str, tuple[tuple[str, str], ...]]


class ProcessState(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The answer of `/readyz`. `error` says why there is none; the other fields are those of the last answer."""

    address: str
    seen_at: str | None = None
    kind: str = "unknown"
    instance: str = ""
    phase: str = "unknown"
    is_ready: bool = False
    problems: Sequence[str] = ()
    components: Mapping[str, Any] = {}
    error: str | None = None


class GatewayState(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A gateway with its numbers of open connections and of authenticated devices, as of the last poll."""

    process: ProcessState
    open_connections: int | None = None
    devices: int | None = None


class MetricSeries(Struct, frozen=True, kw_only=True):
    """`points` are pairs of Unix time and value."""

    name: str
    labels: Mapping[str, str]
    points: Sequence[tuple[int, float]]


class AdminAnswer(Protocol):
    @property
    def status(self) -> int: ...
    @property
    def body(self) -> bytes: ...


class FetchAdminPage(Protocol):
    def __call__(self, address: str, path: str, /, *, drain_token: Secret | None = None) -> AdminAnswer:
        """Read a page of the process at `host:port`; with a token, send POST. Blocks. Raises `UnavailableError`."""
        ...


class ProcessMonitor:
    """`drain_token` is that of the watched processes. None: the monitor cannot drain."""

    def __init__(
        self,
        addresses: Sequence[str],
        clock: Clock,
        fetch: FetchAdminPage,
        drain_token: Secret | None = None,
    ) -> None:
        self._clock = clock
        self._fetch = fetch
        self._drain_token = drain_token
        self._states = {address: ProcessState(address=address) for address in addresses}
        self._totals: dict[SeriesKey, tuple[float, float]] = {}
        self._series: dict[SeriesKey, deque[tuple[int, float]]] = {}

    def processes(self) -> list[ProcessState]:
        return list(self._states.values())

    @property
    def may_drain(self) -> bool:
        return self._drain_token is not None

    def gateways(self) -> list[GatewayState]:
        return [self._gateway(each) for each in self._states.values() if each.kind == _GATEWAY]

    def _gateway(self, process: ProcessState) -> GatewayState:
        if process.error is not None:
            return GatewayState(process=process)
        figures = {
            name: int(points[-1][1])
            for (name, labels), points in self._series.items()
            if ("address", process.address) in labels and points
        }
        return GatewayState(
            process=process,
            open_connections=figures.get("tidings_socket_open"),
            devices=figures.get("tidings_socket_devices"),
        )

    async def drain(self, address: str) -> None:
        """Ask a gateway to drain: its devices move to other gateways, then its process ends with exit code 0.

        Raises `request_invalid` for an unknown gateway, or if there is no token or a wrong one.
        """
        state = self._states.get(address)
        if state is None or state.kind != _GATEWAY:
            raise TidingsError(Code.REQUEST_INVALID, f"There is no gateway at {address!r}.")
        if self._drain_token is None:
            raise _no_token("process.drain_token is not set for the console.")
        try:
            answer = await asyncio.to_thread(self._fetch, address, "/drain", drain_token=self._drain_token)
        except UnavailableError as error:
            raise TidingsError(Code.OVERLOADED, f"The gateway does not answer: {error}") from error
        if answer.status != HTTPStatus.ACCEPTED:
            raise _no_token(f"The gateway refused with {answer.status}: it has no token, or another one.")
        note_change({"phase": state.phase}, {"phase": "draining", "instance": state.instance})
        await self._poll(address)

    def series(self, names: Sequence[str], since_s: int) -> Iterator[MetricSeries]:
        start_s = self._clock.now_ms() // 1000 - since_s
        for (name, labels), points in self._series.items():
            if not names or name in names:
                kept = [point for point in points if point[0] >= start_s]
                yield MetricSeries(name=name, labels=dict(labels), points=kept)

    async def run(self) -> None:
        """Poll until it is cancelled. A process that does not answer is shown with its error."""
        while True:
            await self.poll()
            await asyncio.sleep(STEP_S)

    async def poll(self) -> None:
        await asyncio.gather(*(self._poll(address) for address in self._states))

    async def _poll(self, address: str) -> None:
        before, at_ms = self._states[address], self._clock.now_ms()
        try:
            page = json.loads((await asyncio.to_thread(self._fetch, address, "/readyz")).body)
            text = (await asyncio.to_thread(self._fetch, address, "/metrics")).body.decode()
        except (UnavailableError, ValueError) as error:
            self._states[address] = ProcessState(
                address=address,
                seen_at=before.seen_at,
                kind=before.kind,
                instance=before.instance,
                error=str(error),
            )
            return
        self._states[address] = ProcessState(
            address=address,
            seen_at=format_ms(at_ms),
            kind=str(page.get("process", "unknown")),
            instance=str(page.get("instance", "")),
            phase=str(page.get("phase", "unknown")),
            is_ready=page.get("ready") is True,
            problems=[str(each) for each in page.get("problems", [])],
            components=page.get("components", {}),
        )
        self._record(address, self._states[address].kind, text, at_ms / 1000)

    def _record(self, address: str, kind: str, text: str, at_s: float) -> None:
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                if sample.name in SHOWN:
                    labels = {**sample.labels, "process": kind, "address": address}
                    self._add((sample.name, tuple(sorted(labels.items()))), sample.value, at_s)

    def _add(self, key: SeriesKey, value: float, at_s: float) -> None:
        if key[0].endswith("_total"):
            before = self._totals.get(key)
            self._totals[key] = (at_s, value)
            if before is None or at_s <= before[0]:
                return
            # A lower total is that of a restarted process: everything since its start happened in this step.
            gained = value - before[1] if value >= before[1] else value
            value = gained / (at_s - before[0])
        points = self._series.get(key)
        if points is None:
            if len(self._series) >= MAX_SERIES:
                return
            points = self._series[key] = deque(maxlen=KEPT_POINTS)
        points.append((int(at_s), value))


def _no_token(message: str) -> TidingsError:
    hint = (
        "Set the same process.drain_token for the console and the gateways, or send SIGTERM to the gateway."
    )
    return TidingsError(Code.REQUEST_INVALID, message, hint=hint)
