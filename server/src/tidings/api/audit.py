"""Which REST operations the audit log records, and how.

Administrative operations change configuration, or act on users without them. Data operations, such as sends and
profile updates, are the tenant's traffic: they are frequent, and their results are stored rows.
"""

from typing import Final

from starlette.requests import Request

from tidings.accounts.model import Principal
from tidings.audit.model import AdminAction, AuditSource
from tidings.kernel.security import ADDRESS

AUDITED: Final = frozenset(
    {
        "set_inbox",
        "set_inbox_defaults",
        "amend_notification",
        "redact_notification",
        "change_user_preferences",
        "set_email",
        "pause_job",
        "resume_job",
        "cancel_job",
        "send_broadcast",
        "ramp_broadcast",
        "halt_broadcast",
        "set_segment",
        "activate_segment",
        "erase_user",
        "decide_erasure",
        "export_user",
        "suspend_user",
        "unsuspend_user",
        "end_user_sessions",
        "legacy_send",
        "legacy_redact",
        "create_webhook",
        "update_webhook",
        "delete_webhook",
        "rotate_webhook_secret",
        "retry_webhook",
        "replay_webhook",
        "set_before_send_hook",
        "set_content_rules",
        "decide_review",
        "delete_before_send_hook",
    }
)
"""Operation ids. `legacy_send` is one of them because it also sends broadcasts."""

MODERATION: Final = frozenset(
    {
        "set_chat_rules",
        "mute_member",
        "unmute_member",
        "ban_user",
        "unban_user",
        "create_join_link",
        "revoke_join_link",
    }
)
"""Operations of users that are recorded: what an admin of a group does to its other members."""

DATA_OPERATIONS: Final = frozenset(
    {
        "send_notification",
        "upload_segment_users",
        "set_profile",
        "create_user",
        "update_user",
        "estimate_broadcast",
        "test_webhook",
        "report_bounce",
    }
)
"""Operations of a tenant's server that are not recorded. `estimate_broadcast` and `test_webhook` change nothing."""

APPEND: Final = "audit.append"
"""The access pattern of a recorded operation."""


def is_recorded(operation: str, principal: Principal) -> bool:
    return operation in MODERATION or (operation in AUDITED and principal.user is None)


def rest_action(operation: str, request: Request, principal: Principal) -> AdminAction:
    key = f"api_key:{principal.api_key}" if principal.user is None else f"user:{principal.user}"
    return AdminAction(
        source=AuditSource.REST,
        actor=key,
        credential=key,
        operation=operation,
        target=request.url.path[:512],
        tenant=principal.tenant,
        address=ADDRESS.get(),
        request_id=request.state.request_id,
    )
