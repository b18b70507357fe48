"""Moments as rows hold them: UTC text of a fixed length, to the millisecond, so that it sorts."""

from datetime import UTC, datetime


def time_text(at_ms: int) -> str:
    at = datetime.fromtimestamp(at_ms // 1000, UTC)
    return f"{at:%Y-%m-%dT%H:%M:%S}.{at_ms % 1000:03}Z"


def time_ms(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)
