"""What the edge is set up with. Settings are read elsewhere."""

from dataclasses import dataclass

from tidings.kernel.origins import NO_ORIGINS, AllowedOrigins
from tidings.kernel.secrets import Secret

MIN_SECRET_BYTES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiOptions:
    """`cursor_secrets`: the first signs, all verify, so that a secret can be replaced. The same in every process.

    `docs_root` is put before the links to the pages of error codes. `trusts_trace`: traces of callers are gone on with.
    `allowed_origins`: web pages that may call. `serves_docs`: `/docs` and `/openapi.json` are open to all.
    """

    cursor_secrets: tuple[Secret, ...]
    max_body_bytes: int = 64 * 1024
    max_body_depth: int = 16
    max_body_values: int = 4_000
    docs_root: str = "/"
    trusts_trace: bool = False
    allowed_origins: AllowedOrigins = NO_ORIGINS
    serves_docs: bool = True

    def __post_init__(self) -> None:
        if not self.cursor_secrets or any(
            len(secret.reveal().encode()) < MIN_SECRET_BYTES for secret in self.cursor_secrets
        ):
            raise ValueError(f"cursors are signed with secrets of at least {MIN_SECRET_BYTES} bytes")
