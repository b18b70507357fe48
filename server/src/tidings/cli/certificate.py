"""`tidings certificate key | verify`."""

import asyncio
import json
from pathlib import Path

import click
import msgspec

from tidings.app.settings.loader import load
from tidings.app.wiring.engine_clients import open_key_ring, open_tables
from tidings.cli.output import echo, echo_json, show_fields
from tidings.erasure import certificate as certificates
from tidings.kernel.clock import SystemClock
from tidings.kernel.errors import Code, TidingsError

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.group()
def group() -> None:
    """Certificates of erasures."""


@group.command()
def key() -> None:
    """Print the public key that verifies certificates of this installation, as a JWK.

    Store it where certificates are verified. The first call creates the key.
    """

    async def read() -> bytes:
        settings, clock = load().settings, SystemClock()
        async with open_tables(settings.dynamo) as client, open_key_ring(settings, client, clock) as keys:
            return await keys.certificate_seed()

    echo_json(certificates.public_key(asyncio.run(read())))


@group.command()
@click.argument("certificate", type=_FILE)
@click.option("--key", "key_file", type=_FILE, required=True, help="The output of `tidings certificate key`.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON value.")
def verify(certificate: Path, key_file: Path, *, as_json: bool) -> None:
    """Verify the certificate in the file CERTIFICATE, and print it. Needs no connection and no settings."""
    try:
        found = certificates.verify(certificate.read_text(), json.loads(key_file.read_text()))
    except (certificates.CertificateError, ValueError) as error:
        raise TidingsError(Code.REQUEST_INVALID, f"The certificate is not valid. {error}") from error
    fields = msgspec.to_builtins(found)
    if not as_json:
        echo("ok: the signature is valid")
        counts = fields.pop("counts")
        fields |= {f"erased_{name}": count for name, count in counts.items()}
    show_fields(fields, as_json=as_json)
