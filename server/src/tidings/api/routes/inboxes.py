"""What a tenant's server does with inboxes: sets them up, sends, amends, recalls, and looks into a user's."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from tidings.api.charges import charge_recipients
from tidings.api.documented import OF_BODIES, route
from tidings.api.door import AsNoticesServer, Bulk, Guarded
from tidings.api.keys import KeyHeader, optional_key
from tidings.api.routes.inbox import BROADCASTS
from tidings.api.schemas.chats import Listed
from tidings.api.schemas.ids import UserInPath
from tidings.api.schemas.inbox_defaults import DefaultsShown, DefaultsWanted
from tidings.api.schemas.inboxes import (
    AmendedShown,
    FoundShown,
    HostInPath,
    InboxesShown,
    InboxShown,
    InboxWanted,
    NewNotice,
    NoticeAmended,
    NoticeSent,
    ProofShown,
    ProofsShown,
    RecalledShown,
)
from tidings.api.schemas.notices import ExplainedShown, InboxInPath, NoticeInPath
from tidings.kernel.errors import Code
from tidings.notices.model import Owner

router = APIRouter(prefix="/v1", route_class=Guarded, tags=["inboxes"])
bulk = APIRouter(prefix="/v1", route_class=Bulk, tags=["inboxes"])

_UNKNOWN, _UNSURE, _CHANGED = Code.INBOX_NOT_FOUND, Code.OUTCOME_UNKNOWN, Code.CHANGED_MEANWHILE
_OF_NOTICES = (Code.NOTICE_NOT_FOUND, _UNKNOWN)
_OF_CONTENT = (Code.CONTENT_INVALID, Code.CONTENT_TOO_LARGE, Code.KEYS_UNAVAILABLE)
_KEYS = ("tenants.list_data_keys",)
SEND = (
    *("inbox.read_config", "inbox.put_content", "jobs.claim_key", "jobs.put_chunks", "jobs.create"),
    *_KEYS,
)


@router.get(
    "/inboxes",
    **route("list_inboxes", touches=("inbox.list_configs",), summary="The tenant's inboxes (server)"),
)
async def list_inboxes(call: AsNoticesServer) -> InboxesShown:
    found = await call.edge.services.notices.inboxes.listed(call.tenant)
    return InboxesShown(inboxes=[InboxShown.of(each) for each in found])


@router.get(
    "/inboxes/{inbox}",
    **route("get_inbox", _UNKNOWN, touches=("inbox.read_config",), summary="An inbox (server)"),
)
async def get_inbox(call: AsNoticesServer, inbox: InboxInPath) -> InboxShown:
    return InboxShown.of(await call.edge.services.notices.inboxes.read(call.tenant, inbox))


@router.put(
    "/inboxes/{inbox}",
    **route(
        "set_inbox",
        *OF_BODIES,
        _UNSURE,
        _CHANGED,
        touches=("inbox.read_settings", "inbox.read_config", "inbox.write_config"),
        summary="Make or change an inbox (server)",
    ),
)
async def set_inbox(call: AsNoticesServer, inbox: InboxInPath, body: InboxWanted) -> InboxShown:
    """Holds in every process a moment later, and at the latest within five seconds."""
    notices = call.edge.services.notices
    new = await notices.defaults.read(call.tenant)
    return InboxShown.of(
        await notices.inboxes.set(call.tenant, inbox, lambda before: body.wanted(before or new))
    )


@router.get(
    "/inbox-defaults",
    **route(
        "get_inbox_defaults",
        touches=("inbox.read_settings",),
        summary="What new inboxes of the tenant get (server)",
    ),
)
async def get_inbox_defaults(call: AsNoticesServer) -> DefaultsShown:
    return DefaultsShown.of(await call.edge.services.notices.defaults.read(call.tenant))


@router.put(
    "/inbox-defaults",
    **route(
        "set_inbox_defaults",
        *OF_BODIES,
        _UNSURE,
        _CHANGED,
        touches=("inbox.read_settings", "inbox.write_settings"),
        summary="Set what new inboxes of the tenant get (server)",
    ),
)
async def set_inbox_defaults(call: AsNoticesServer, body: DefaultsWanted) -> DefaultsShown:
    """Holds at once, for inboxes that are made from then on; those that there are stay as they are."""
    wanted = body.wanted()
    return DefaultsShown.of(await call.edge.services.notices.defaults.set(call.tenant, lambda _: wanted))


@bulk.post(
    "/inboxes/{inbox}/notices",
    **route(
        "send_notice",
        *OF_BODIES,
        *_OF_CONTENT,
        _UNKNOWN,
        _UNSURE,
        Code.KEY_CONFLICT,
        touches=SEND,
        repeat=NoticeSent,
        status_code=201,
        summary="Send a notice to named users (server)",
    ),
)
async def send_notice(
    call: AsNoticesServer, inbox: InboxInPath, body: NewNotice, response: Response, key: KeyHeader = None
) -> NoticeSent:
    """201: committed, it comes to every one of them. 200: it was before; the first answer again."""
    named = None if key is None else optional_key(key)
    await charge_recipients(call.edge.services.limits, call.tenant, len(body.uids))
    sent = await call.edge.services.notices.send(call.tenant, inbox, body.wish(), named)
    if not sent.is_new:
        response.status_code = 200
    return NoticeSent.of(sent)


@router.get(
    "/inboxes/{inbox}/sent/{host_system_id}",
    **route(
        "find_notice",
        *_OF_NOTICES,
        touches=("inbox.read_config", "jobs.find_key", "inbox.find_content"),
        summary="The notice that was sent under a name of your own (server)",
    ),
)
async def find_notice(call: AsNoticesServer, inbox: InboxInPath, host_system_id: HostInPath) -> FoundShown:
    """Of those that were sent as the only one of their name: with `is_unique`."""
    recall = call.edge.services.notices.recall
    notice = await recall.by_host_id(call.tenant, inbox, host_system_id)
    return FoundShown.of(await recall.find(call.tenant, inbox, notice))


@router.patch(
    "/inboxes/{inbox}/notices/{notice}",
    **route(
        "amend_notice",
        *OF_BODIES,
        *_OF_NOTICES,
        *_OF_CONTENT,
        _UNSURE,
        _CHANGED,
        Code.NOTHING_TO_CHANGE,
        touches=("inbox.read_config", "inbox.find_content", "inbox.amend_content", "jobs.create", *_KEYS),
        summary="Change what a notice says (server)",
    ),
)
async def amend_notice(
    call: AsNoticesServer, inbox: InboxInPath, notice: NoticeInPath, body: NoticeAmended
) -> AmendedShown:
    """At once, for all who have it; whether they have read it stays as it is. Who is connected is told, by a job."""
    amended = await call.edge.services.notices.recall.amend(call.tenant, inbox, notice, body.message)
    return AmendedShown.of(amended)


@router.delete(
    "/inboxes/{inbox}/notices/{notice}",
    **route(
        "redact_notice",
        *_OF_NOTICES,
        _UNSURE,
        _CHANGED,
        touches=(
            *("inbox.find_content", "inbox.redact_content", "jobs.create"),
            *("inbox.follow_broadcasts", "inbox.open_broadcasts", "inbox.append_broadcast"),
        ),
        summary="Recall a notice (server)",
    ),
)
async def redact_notice(call: AsNoticesServer, inbox: InboxInPath, notice: NoticeInPath) -> RecalledShown:
    """Nobody sees it from now on; a job takes it out of everybody's counts, a broadcast leaves them within a second."""
    return RecalledShown.of(await call.edge.services.notices.recall.redact(call.tenant, inbox, notice))


@router.get(
    "/inboxes/{inbox}/notices/{notice}/recipients",
    **route(
        "list_recipients",
        *_OF_NOTICES,
        Code.CURSOR_INVALID,
        touches=("inbox.find_content", "jobs.read_chunk", "inbox.prove_recall"),
        summary="Who had a notice, had read it, and when it vanished (server)",
    ),
)
async def list_recipients(
    call: AsNoticesServer, inbox: InboxInPath, notice: NoticeInPath, asked: Annotated[Listed, Query()]
) -> ProofsShown:
    """A hundred at a time, in the order in which they were named."""
    cursors = call.edge.cursors.of(call.tenant, None, "recipients", inbox, notice)
    chunk = int(cursors.read(asked.cursor) or 0)
    page = await call.edge.services.notices.prove.page(call.tenant, inbox, notice, chunk)
    end = None if page.next_chunk is None else str(page.next_chunk)
    return ProofsShown(users=[ProofShown.of(each) for each in page.proofs], cursor=cursors.write(end))


@router.get(
    "/inboxes/{inbox}/users/{user}/explain",
    **route(
        "explain_counts",
        _UNKNOWN,
        _CHANGED,
        Code.CURSOR_INVALID,
        touches=("inbox.read_config", "inbox.read_counts", "inbox.read_rows", "inbox.settle", *BROADCASTS),
        summary="Why a user's counts are what they are (server)",
    ),
)
async def explain_counts(
    call: AsNoticesServer, inbox: InboxInPath, user: UserInPath, asked: Annotated[Listed, Query()]
) -> ExplainedShown:
    """Every notice, and what decides about it: those that are counted make up the count."""
    known = await call.edge.services.notices.known.of(call.tenant, inbox)
    cursors = call.edge.cursors.of(call.tenant, user, "explain", inbox)
    below = cursors.read(asked.cursor)
    explained = await call.edge.services.notices.read.explain(
        Owner(call.tenant, user, inbox), asked.limit, below
    )
    return ExplainedShown.of(explained, known, cursors.write(explained.below))
