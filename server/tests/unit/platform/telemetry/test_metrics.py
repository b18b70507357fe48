import pytest

from tidings.platform.telemetry.metrics import LATENCY_BUCKETS_S, BadMetricError, Metrics


def test_a_metric_appears_on_the_page_under_its_full_name() -> None:
    metrics = Metrics()
    metrics.counter("sends_total", "Sends.").inc()
    metrics.gauge("gateway_connections", "Open sockets.").set(3)
    metrics.latency("send_seconds", "A send.").observe(0.003)
    metrics.sizes("frame_bytes", "A frame.").observe(100)
    page = metrics.render().decode()
    assert "tidings_sends_total 1.0\n" in page
    assert "tidings_gateway_connections 3.0\n" in page
    assert 'tidings_send_seconds_bucket{le="0.005"} 1.0\n' in page
    assert 'tidings_frame_bytes_bucket{le="256.0"} 1.0\n' in page
    assert "process_resident_memory_bytes" in page
    assert "_created" not in page


def test_two_registries_share_nothing() -> None:
    one, two = Metrics(), Metrics()
    one.counter("sends_total", "Sends.").inc()
    two.counter("sends_total", "Sends.")
    assert "tidings_sends_total 0.0\n" in two.render().decode()


def test_every_declared_series_exists_from_the_start_and_no_other_can_be_created() -> None:
    metrics = Metrics()
    sends = metrics.counters("sends_total", "Sends.", {"outcome": ["ok", "refused"], "shape": ["a", "b"]})
    sends["ok", "a"].inc()
    page = metrics.render().decode()
    assert page.count("tidings_sends_total{") == 4
    assert 'tidings_sends_total{outcome="ok",shape="a"} 1.0\n' in page
    with pytest.raises(BadMetricError, match="is not declared"):
        sends["ok", "c"].inc()


def test_one_label_needs_no_tuple() -> None:
    metrics = Metrics()
    metrics.gauges("lag_seconds", "Lag.", {"topic": ["messages"]})["messages"].set(2)
    metrics.latencies("call_seconds", "A call.", {"table": ["chats"]})["chats"].observe(1)
    assert 'tidings_lag_seconds{topic="messages"} 2.0\n' in metrics.render().decode()


@pytest.mark.parametrize(
    "label",
    [
        *("tenant", "tenant_id", "user", "users", "chat", "chat_id", "device", "session", "message_id"),
        *("request_id", "ip", "phone", "path", "url", "client", "key", "trace_id", "Outcome", "x-y"),
    ],
)
def test_a_label_that_grows_with_use_is_refused(label: str) -> None:
    with pytest.raises(BadMetricError):
        Metrics().counters("sends_total", "Sends.", {label: ["a"]})


@pytest.mark.parametrize(
    "label", ["outcome", "operation", "table", "topic", "phase", "component", "kind", "error_code"]
)
def test_a_label_with_few_values_is_accepted(label: str) -> None:
    Metrics().counters("sends_total", "Sends.", {label: ["a"]})


def test_too_many_series_are_refused_and_none_too() -> None:
    with pytest.raises(BadMetricError, match="0 labels"):
        Metrics().counters("sends_total", "Sends.", {})
    with pytest.raises(BadMetricError, match="0 series"):
        Metrics().counters("sends_total", "Sends.", {"table": []})
    with pytest.raises(BadMetricError, match="1001 series"):
        Metrics().counters("sends_total", "Sends.", {"table": [f"t{n}" for n in range(1001)]})


@pytest.mark.parametrize(
    "name", ["sends", "tidings_sends_total", "Sends_total", "sends__total", "waits_ms_total"]
)
def test_a_counter_with_an_odd_name_is_refused(name: str) -> None:
    with pytest.raises(BadMetricError):
        Metrics().counter(name, "Sends.")


def test_units_are_seconds_and_bytes() -> None:
    metrics = Metrics()
    with pytest.raises(BadMetricError):
        metrics.latency("send_ms", "A send.")
    with pytest.raises(BadMetricError):
        metrics.gauge("age_minutes", "Age.")
    with pytest.raises(BadMetricError):
        metrics.sizes("frame_seconds", "A frame.")


def test_a_tally_is_read_when_metrics_are_collected() -> None:
    metrics, frames = Metrics(), [0]
    metrics.counter_callback("frames_total", "Frames.", lambda: frames[0])
    frames[0] = 5
    assert "tidings_frames_total 5.0\n" in metrics.render().decode()


def test_latency_buckets_rise() -> None:
    assert list(LATENCY_BUCKETS_S) == sorted(set(LATENCY_BUCKETS_S))
