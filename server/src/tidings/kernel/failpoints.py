"""Failpoints: named steps at which a test can pause a process. In production they do nothing."""


class Failpoints:
    """Failpoints without effect. Tests override `hit`."""

    async def hit(self, name: str, /) -> None:
        """Return when the process may continue. A failpoint is named after the step that was just done."""


NO_FAILPOINTS = Failpoints()
