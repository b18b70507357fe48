"""The order of the steps, the pseudonyms, and how progress is added up. Pure."""

import base64
import hashlib
import hmac
from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from tidings.erasure.approval import expires_ms
from tidings.erasure.certificate import erased_at
from tidings.erasure.model import Erasure, ErasureCursor, ErasureId, ErasureStep, StepProgress
from tidings.jobs.model import Job, JobId, JobKind
from tidings.kernel.clock import parse_ms
from tidings.kernel.ids import ChatKey, UserId, encode_ulid, ulid_ms

ORDER: Final = tuple(ErasureStep)
QUIET_MS: Final = 120_000
"""After the fence: longer than a process trusts a cached admission (60 s) plus the retries of an append."""
SETTLE_MS: Final = 360_000
"""After the last chat was left: longer than a process caches the members of a direct chat (300 s)."""
FINAL_MS: Final = 8 * 86_400_000
"""After the certificate: longer than backups of the keys are kept (7 days)."""
WAITS: Final[Mapping[ErasureStep, int]] = {
    ErasureStep.QUIET: QUIET_MS,
    ErasureStep.SETTLED: SETTLE_MS,
    ErasureStep.FINAL: FINAL_MS,
}
"""How long after its begin a step may do its work."""
RESTORE_MARGIN_MS: Final = 60_000
"""How far the times of restored tables may be apart."""
_PSEUDONYM_BYTES: Final = 16


def pseudonym(secret: bytes, chat: ChatKey) -> UserId:
    """Return the id that replaces the user in one chat. Depends on the secret and the chat, never on the user's id."""
    digest = hmac.digest(secret, f"{chat.tenant}#{chat.chat}".encode(), hashlib.sha256)
    return UserId("erased-" + base64.b32encode(digest[:_PSEUDONYM_BYTES]).decode().rstrip("=").lower())


def job_of(erasure: Erasure) -> Job:
    """Return the job that runs an erasure. The step `final` is days later and has a job of its own.

    So nothing checks an erasure that only waits. The ids follow from the id of the erasure: a repeated start finds its job.
    """
    is_final = erasure.step is ErasureStep.FINAL
    return _job(erasure, JobKind.ERASE, 1 if is_final else 0, ready_at_ms(erasure) if is_final else 0)


def is_job_of(job: JobId, erasure: Erasure) -> bool:
    """Return whether a job runs this erasure. After a restore, the job of its first attempt may be there again."""
    return job in {JobId(erasure.id), _job_id(erasure, 1)}


def search_job_of(erasure: Erasure) -> Job:
    """Return the job that has the search process delete the documents of the user."""
    return _job(erasure, JobKind.INDEX, 2, 0)


def expiry_job_of(erasure: Erasure) -> Job:
    """Return the job that expires a request without a decision at its time."""
    return _job(erasure, JobKind.ERASE, 3, expires_ms(erasure))


def job_ids(erasure: Erasure) -> frozenset[str]:
    """Return the ids of all jobs of an erasure."""
    return frozenset(_job(erasure, JobKind.ERASE, number, 0).id for number in range(4))


def at_cursor(erasure: Erasure, cursor: ErasureCursor) -> Erasure:
    return replace(erasure, cursor=cursor)


def _job(erasure: Erasure, kind: JobKind, number: int, starts_ms: int) -> Job:
    id_ = _job_id(erasure, number)
    return Job(
        tenant=erasure.tenant,
        id=id_,
        kind=kind,
        source=id_,
        total=1,
        created_ms=erasure.requested_ms,
        starts_ms=starts_ms,
        user=erasure.user,
        chunk_users=1,
    )


def _job_id(erasure: Erasure, number: int) -> JobId:
    if not number:
        return JobId(erasure.id)
    digest = hashlib.sha256(f"{erasure.id}#{number}".encode()).digest()
    return JobId(encode_ulid(ulid_ms(erasure.id), int.from_bytes(digest[:10])))


def is_undone_by(erasure: Erasure, restored_ms: int) -> bool:
    """Return whether tables as of this time may have data of the user: the erasure was not finished a minute before it."""
    if erasure.certificate is None:
        return True
    return parse_ms(erased_at(erasure.certificate)) > restored_ms - RESTORE_MARGIN_MS


def started_again(erasure: Erasure, id_: ErasureId, secret: bytes, now_ms: int) -> Erasure:
    """Return an erasure at its first step, for tables that a restore has brought back.

    Its jobs have other ids: the tables may have the former ones, done or not. `secret` replaces one that was deleted.
    """
    return replace(
        erasure,
        id=id_,
        secret=erasure.secret or secret,
        step=ErasureStep.FENCE,
        step_ms=now_ms,
        cursor=ErasureCursor(),
        counts={},
        certificate=None,
        version=erasure.version + 1,
    )


def ready_at_ms(erasure: Erasure) -> int:
    """Return when the step of an erasure may start its work."""
    return erasure.step_ms + WAITS.get(erasure.step, 0)


def after_page(erasure: Erasure, progress: StepProgress, now_ms: int) -> Erasure:
    """Return the erasure after one page of its step."""
    counts = dict(erasure.counts)
    for name, count in progress.counts.items():
        counts[name] = counts.get(name, 0) + count
    if progress.cursor is not None:
        return replace(erasure, cursor=progress.cursor, counts=counts, version=erasure.version + 1)
    following = ORDER[ORDER.index(erasure.step) + 1]
    # The certificate is signed and stored by its step. From then on no pseudonym can be computed.
    is_signed = erasure.step is ErasureStep.CERTIFICATE
    return replace(
        erasure,
        step=following,
        step_ms=now_ms,
        cursor=ErasureCursor(),
        counts=counts,
        certificate=progress.certificate or erasure.certificate,
        secret=None if is_signed else erasure.secret,
        version=erasure.version + 1,
    )
