"""Several processes of one kind on one machine."""

import socket

import pytest

from tidings.app.processes.command import run_processes
from tidings.app.settings import Settings
from tidings.app.settings.processes import ApiSettings
from tidings.kernel.errors import Code, TidingsError


def test_a_port_in_use_is_reported_with_the_setting_to_change() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(TidingsError) as caught:
            run_processes("api", 2, Settings(api=ApiSettings(host="127.0.0.1", port=port)))
    assert caught.value.code is Code.SETTINGS_INVALID
    assert caught.value.message == f"Cannot listen on 127.0.0.1:{port}: Address already in use."
    assert "TIDINGS_API_PORT" in caught.value.hint
