"""Review the content of a message or an edit before its commit, by the deciders of the tenant."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from tidings.kernel.errors import Code, TidingsError
from tidings.messages.model import FlaggedContent, PermissionCheck, Rejection, ReviewRequest
from tidings.messages.ports import BeforeSend


class ContentReview(NamedTuple):
    """The result of a review: the body to commit, the reason of a refusal, and whether moderators see the message."""

    body: bytes
    rejection: Rejection | None = None
    is_flagged: bool = False

    def permit[S](self, may: PermissionCheck[S]) -> PermissionCheck[S]:
        """Return a permission check that refuses rejected content.

        Race: a message is committed, its ack is lost, and the hook refuses the retry. The refusal is decided where
        permissions are, after the duplicate check, so the retry receives its sequence.
        """
        if self.rejection is None:
            return may

        def refuse(status: S, after: int | None, /) -> Code | None:
            return may(status, after) or Code.MESSAGE_REFUSED

        return refuse

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Add the hook's reason to the error of a refusal."""
        try:
            yield
        except TidingsError as error:
            if error.code is not Code.MESSAGE_REFUSED or self.rejection is None:
                raise
            raise TidingsError(error.code, self.rejection.reason) from None


async def review_content(hook: BeforeSend | None, request: ReviewRequest) -> ContentReview:
    if hook is None:
        return ContentReview(request.body)
    reviewed = await hook.review(request)
    if isinstance(reviewed, Rejection):
        return ContentReview(request.body, reviewed)
    if isinstance(reviewed, FlaggedContent):
        return ContentReview(reviewed.body, is_flagged=True)
    return ContentReview(reviewed)
