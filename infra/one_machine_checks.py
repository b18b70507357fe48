"""Check the files for an installation on one machine with the programs that read them."""

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

import trustme

from infra.generated import INFRA
from tidings.app.settings.loader import load
from tidings.kernel.errors import TidingsError

FILES: Final = INFRA / "one-machine"
_COMMAND, _CERTIFICATES = "/opt/tidings/bin/tidings", "/etc/letsencrypt/live/chat.example.com"


def one_machine_faults(folder: Path = FILES) -> tuple[list[str], list[str]]:
    """Return the faults of settings, units and proxies, and the checks that could not run on this machine."""
    faults, not_run = settings_faults(folder), []
    for tool, check in (
        ("systemd-analyze", unit_faults),
        ("caddy", caddy_faults),
        ("nginx", nginx_faults),
    ):
        if shutil.which(tool):
            faults += check(folder)
        else:
            not_run.append(f"files for {tool.partition('-')[0]}: {tool} is not installed")
    return faults, not_run


def settings_faults(folder: Path) -> list[str]:
    with tempfile.TemporaryDirectory() as place:
        shutil.copy(folder / "tidings.toml", place)
        try:
            load({}, Path(place))
        except TidingsError as error:
            return [f"tidings.toml: {error.details.get('faults', error.message)}"]
    return []


def unit_faults(folder: Path) -> list[str]:
    """Verify the units. The program that they start is not installed here, so another one takes its place."""
    with tempfile.TemporaryDirectory() as place:
        units = [path for path in folder.iterdir() if path.suffix in {".service", ".timer"}]
        for path in units:
            (Path(place) / path.name).write_text(path.read_text().replace(_COMMAND, "/bin/true"))
        names = [str(Path(place) / path.name) for path in units]
        return _run(["systemd-analyze", "verify", "--man=no", *names])


def caddy_faults(folder: Path) -> list[str]:
    return _run(["caddy", "validate", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")])


def nginx_faults(folder: Path) -> list[str]:
    """Test the configuration with a certificate of its own."""
    with tempfile.TemporaryDirectory() as place:
        leaf = trustme.CA().issue_cert("chat.example.com")
        leaf.private_key_pem.write_to_path(f"{place}/privkey.pem")
        for pem in leaf.cert_chain_pems:
            pem.write_to_path(f"{place}/fullchain.pem", append=True)
        ours = (folder / "nginx.conf").read_text().replace(_CERTIFICATES, place)
        whole = f"pid {place}/pid; error_log {place}/log; events {{}} http {{ access_log off; {ours} }}"
        (Path(place) / "nginx.conf").write_text(whole)
        return _run(["nginx", "-t", "-q", "-c", f"{place}/nginx.conf"])


def _run(command: list[str]) -> list[str]:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return [f"{command[0]}: {done.stderr or done.stdout}"] if done.returncode else []
