"""Passwords, users and TLS, on servers that want them."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from fixtures.redis_cluster import Server, ask, binary

from tidings.engines.ports import Ports
from tidings.kernel.secrets import Secret
from tidings.platform.redis.client import Redis
from tidings.platform.redis.errors import RefusedError, UnreachableError
from tidings.platform.redis.options import Options

NO_OPENSSL = "there is no openssl to make a certificate with: TLS is not tested"


@pytest.fixture(params=["valkey", "redis"])
def locked(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    """Wants a password, and has a user `gateway` who may touch only what begins with `mine:`."""
    server = Server(binary(request.param), tmp_path, Ports().take(0, "redis"))
    server.start()
    ask(server.port, "ACL", "SETUSER", "gateway", "on", ">p@ss/word", "~mine:*", "&mine:*", "+@all")
    ask(server.port, "CONFIG", "SET", "requirepass", "open sesame")
    yield server
    server.kill()


async def test_a_password_is_brought_along(locked: Server) -> None:
    redis = await Redis.connect(Options.from_url(Secret(f"redis://:open%20sesame@127.0.0.1:{locked.port}")))
    assert await redis.write("SET", redis.keys.key("acme", "ann", "x"), 1) == b"OK"
    await redis.close()


async def test_a_user_has_what_is_his_and_no_more(locked: Server) -> None:
    url = f"redis://gateway:p%40ss%2Fword@127.0.0.1:{locked.port}"
    mine = await Redis.connect(Options.from_url(url).but(key_prefix="mine"))
    assert await mine.write("SET", mine.keys.key("acme", "ann", "x"), 1) == b"OK"
    await mine.close()
    other = await Redis.connect(Options.from_url(url).but(key_prefix="other"))
    with pytest.raises(RefusedError) as caught:
        await other.write("SET", other.keys.key("acme", "ann", "x"), 1)
    assert (caught.value.word, caught.value.transient) == ("NOPERM", False)
    await other.close()


@pytest.mark.parametrize(
    ("login", "word"), [("", "NOAUTH"), (":wrong@", "WRONGPASS"), ("who:knows@", "WRONGPASS")]
)
async def test_who_is_not_let_in_is_told_why_and_no_password_is_shown(
    locked: Server, login: str, word: str
) -> None:
    with pytest.raises(UnreachableError, match=word) as caught:
        await Redis.connect(Options.from_url(f"redis://{login}127.0.0.1:{locked.port}"))
    assert "wrong" not in str(caught.value)
    assert "knows" not in str(caught.value)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    if shutil.which("openssl") is None:
        pytest.skip(NO_OPENSSL)
    home = tmp_path_factory.mktemp("certificate")
    paths = home / "cert.pem", home / "key.pem"
    words = (
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test -addext subjectAltName=IP:127.0.0.1"
    )
    command = [*words.split(), "-out", str(paths[0]), "-keyout", str(paths[1])]
    subprocess.run(command, check=True, capture_output=True)
    return paths


async def test_tls_with_a_certificate_that_is_trusted_and_not_with_another(
    certificate: tuple[Path, Path], tmp_path: Path
) -> None:
    ports = Ports()
    tls_port = ports.take(0, "redis")
    tls = ("--tls-port", str(tls_port), "--tls-auth-clients", "no", "--tls-ca-cert-file", str(certificate[0]))
    pair = ("--tls-cert-file", str(certificate[0]), "--tls-key-file", str(certificate[1]))
    server = Server(binary("redis"), tmp_path, ports.take(0, "redis"), extra=(*tls, *pair))
    server.start()
    try:
        options = Options.from_url(f"rediss://127.0.0.1:{tls_port}")
        redis = await Redis.connect(options.but(ca_file=certificate[0]))
        assert await redis.write("SET", redis.keys.key("acme", "ann", "x"), b"y" * 100_000) == b"OK"
        assert await redis.read("STRLEN", redis.keys.key("acme", "ann", "x")) == 100_000
        await redis.close()
        with pytest.raises(UnreachableError, match="CERTIFICATE_VERIFY_FAILED"):
            await Redis.connect(options)
    finally:
        server.kill()
