"""compose.yaml: it is valid, and mistakes in it are found."""

from pathlib import Path

import pytest

from infra.compose_checks import COMPOSE, compose_faults


def test_the_file_is_valid() -> None:
    assert compose_faults() == []


@pytest.mark.parametrize(
    ("right", "wrong", "fault"),
    [
        ("stop_grace_period: 60s", "stop_grace: 60s", "stop_grace"),
        ("command: [run, relay]", "command: [run, replay]", "no service runs `tidings run relay`"),
        ('tidings-ready, "9600"', 'tidings-ready, "9601"', "does not ask port 9600"),
        ("TIDINGS_REDIS_URL: redis://127", "TIDINGS_REDIS_URI: redis://127", "TIDINGS_REDIS_URI"),
        ("URL: redis://127.0.0.1:6379", "URL: redis://valkey:6379", "connects without TLS"),
        ("PLAINTEXT://127.0.0.1:9092\n", "PLAINTEXT://127.0.0.1:9094\n", "listens on 127.0.0.1:9094"),
        ("  cap_drop: [ALL]", "  cap_drop: [CHOWN]", "keeps privileges"),
        ("    cap_add: [NET_BIND_SERVICE]", "    init: true", "proxy: its added capabilities"),
        ("  init: true", "  cap_add: [SYS_ADMIN]", "api: its added capabilities"),
        ("  read_only: true", "  read_only: false", "not read-only"),
        ("./infra/one-machine/Caddyfile", "./infra/one-machine/Caddy.conf", "there is no file"),
    ],
)
def test_a_mistake_is_found(tmp_path: Path, right: str, wrong: str, fault: str) -> None:
    text = COMPOSE.read_text()
    assert right in text
    changed = tmp_path / "compose.yaml"
    changed.write_text(text.replace(right, wrong))
    assert fault in "\n".join(compose_faults(changed))
