"""The meaning of providers' answers that follow the usual rules of HTTP."""

from tidings.push.ports import SendResult, SendVerdict

_TEXT_CHARS = 200
_CREDENTIALS = frozenset({401, 403})
_GONE = frozenset({404, 410})
_BUSY = frozenset({408, 425, 429})
_SERVER_ERROR = 500


def verdict_of(status: int) -> SendVerdict:
    """Read a status: 404 and 410 both mean that a subscription has ended.

    Refused credentials are tried again: an operator can correct them while the message is still new.
    """
    if 200 <= status < 300:  # noqa: PLR2004 - the successes of HTTP
        return SendVerdict.ACCEPTED
    if status in _GONE:
        return SendVerdict.GONE
    if status in _BUSY or status in _CREDENTIALS or status >= _SERVER_ERROR:
        return SendVerdict.RETRY
    return SendVerdict.REJECTED


def short_text(body: bytes) -> str:
    """Return the start of a provider's answer, in one line."""
    return " ".join(body.decode("utf-8", "replace").split())[:_TEXT_CHARS]


def no_answer(error: Exception) -> SendResult:
    """Return the result of a request without an answer. The provider may have processed it: try again with the same id."""
    reason = str(error) or type(error).__name__
    return SendResult(
        verdict=SendVerdict.RETRY, status=0, answer=f"no answer: {reason}"[:_TEXT_CHARS], is_outage=True
    )
