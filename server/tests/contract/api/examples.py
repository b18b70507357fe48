"""For every route, a valid call of each kind.

A route without an example here fails the test, so a new route cannot be forgotten.
"""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from fixtures.use_cases import ANNA

from tidings.accounts.model import Phone
from tidings.kernel.ids import UserId


class Reach(Enum):
    """The resource of a call, which determines the callers that must be refused."""

    CHAT = auto()
    """A chat: members only."""
    PAST = auto()
    """The log of a chat: a removed member may still read the entries of their membership."""
    OWN = auto()
    """The caller's own data: another caller gets their own, and this tenant does not change."""
    TENANT = auto()
    """For all users of the tenant."""
    SERVER = auto()
    """For the tenant's server, with the scope `users`."""
    INBOXES = auto()
    """For the tenant's server, with the scope `notifications`."""
    WEBHOOKS = auto()
    """For the tenant's server, with the scope `webhooks`."""
    MODERATION = auto()
    """For the tenant's server, with the scope `moderation`."""
    ADDRESSED = auto()
    """The caller's own data; the path must name the caller's tenant."""
    OPEN = auto()
    """For clients without a credential."""


@dataclass(frozen=True)
class Example:
    """A valid call. `{chat}` and `{message}` in the path come from the scene. `caller` `None`: the tenant's server."""

    path: str
    body: dict[str, Any] | None = None
    reach: Reach = Reach.CHAT
    caller: UserId = ANNA


HOOK = "https://hooks.example/tidings"
SAID = {"text": "hi", "client_message_id": "matrix"}
FOUND = Phone("+4915112345679")
SESSION = "01JCQ51A2B3C4D5E6F7G8H9J0K"
NOTIFICATION = "01JCQ4Z7N3V5X9B2M8K6T1R0WD"
SENT = {"user_ids": ["anna"], "message": {"title": "hi"}}
POSTED = {"audiences": {"kind": "users", "uids": ["anna"]}, "message": {"title": "hi"}}
REDEEMED = {
    "tenant": "{tenant}",
    "challenge": "ORUGS4ZANFZSAYJAMNUGC3DMMV",
    "phone": "+4915112345678",
    "code": "123456",
    "device": {"id": "laptop"},
}
SHA256 = "n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg="
UPLOADED = {"name": "a.png", "size": 1, "type": "image/png", "sha256": SHA256}
GROUP = {"type": "group", "name": "new", "members": ["eve"], "client_message_id": "matrix"}
EXAMPLES: dict[str, Example] = {
    "create_chat.direct": Example("/v1/chats", {"type": "direct", "user": "eve"}, Reach.OWN),
    "create_chat.group": Example("/v1/chats", GROUP, Reach.OWN),
    "get_chat": Example("/v1/chats/{chat}"),
    "rename_chat": Example("/v1/chats/{chat}", {"name": "new"}),
    "search_messages": Example("/v1/search?q=said", reach=Reach.OWN),
    "list_chats": Example("/v1/chats", reach=Reach.OWN),
    "update_chat_settings": Example("/v1/chats/{chat}/settings", {"is_pinned": True}),
    "explain_unread": Example("/v1/chats/{chat}/unread/explain"),
    "mark_read": Example("/v1/chats/{chat}/read", {"sequence": 2}),
    "mark_delivered": Example("/v1/chats/{chat}/delivered", {"sequence": 2}),
    "list_blocks": Example("/v1/blocks", reach=Reach.OWN),
    "block_user": Example("/v1/blocks/eve", reach=Reach.OWN),
    "unblock_user": Example("/v1/blocks/eve", reach=Reach.OWN),
    "list_members": Example("/v1/chats/{chat}/members"),
    "add_members": Example("/v1/chats/{chat}/members", {"users": ["eve"]}),
    "get_member_job": Example("/v1/chats/{chat}/member-jobs/{member_job}"),
    "add_member_by_phone": Example("/v1/chats/{chat}/members-by-phone", {"phone_number": FOUND}),
    "remove_member": Example("/v1/chats/{chat}/members/ben"),
    "change_role": Example("/v1/chats/{chat}/members/ben/role", {"role": "admin"}),
    "transfer_chat": Example("/v1/chats/{chat}/owner", {"user": "ben"}),
    "set_chat_rules": Example("/v1/chats/{chat}/rules", {"slow_mode_seconds": 1}),
    "mute_member": Example("/v1/chats/{chat}/members/ben/mute", {"reason": "spam"}),
    "unmute_member": Example("/v1/chats/{chat}/members/ben/mute"),
    "list_bans": Example("/v1/chats/{chat}/bans"),
    "ban_user": Example("/v1/chats/{chat}/bans/eve", {"until": "2999-01-01T00:00:00Z"}),
    "unban_user": Example("/v1/chats/{chat}/bans/eve"),
    "join_chat": Example("/v1/chats/{chat}/join", {}),
    "create_join_link": Example("/v1/chats/{chat}/link"),
    "revoke_join_link": Example("/v1/chats/{chat}/link"),
    "invite_users": Example("/v1/chats/{chat}/invites", {"users": ["eve"]}),
    "revoke_invite": Example("/v1/chats/{chat}/invites/eve"),
    "list_invites": Example("/v1/invites", reach=Reach.OWN),
    "accept_invite": Example("/v1/invites/{chat}/accept"),
    "decline_invite": Example("/v1/invites/{chat}", reach=Reach.OWN, caller=UserId("gil")),
    "report_message": Example("/v1/messages/{message}/report", {"reason": "spam"}, Reach.PAST, UserId("ben")),
    "report_user": Example("/v1/users/fay/report", {"reason": "abuse", "text": "insults"}, Reach.OWN),
    "list_reviews": Example("/v1/reviews", reach=Reach.MODERATION),
    "get_review": Example("/v1/reviews/u.fay", reach=Reach.MODERATION),
    "decide_review": Example("/v1/reviews/u.fay/decision", {"action": "dismiss"}, Reach.MODERATION),
    "get_content_rules": Example("/v1/content-rules", reach=Reach.MODERATION),
    "set_content_rules": Example(
        "/v1/content-rules", {"words": [{"text": "darn"}], "domains": []}, Reach.MODERATION
    ),
    "send_message": Example("/v1/chats/{chat}/messages", SAID),
    "list_messages": Example("/v1/chats/{chat}/messages", reach=Reach.PAST),
    "get_message": Example("/v1/messages/{message}", reach=Reach.PAST),
    "get_message_status": Example("/v1/messages/{message}/status", reach=Reach.PAST),
    "edit_message": Example("/v1/messages/{message}", {"text": "other"}),
    "redact_message": Example("/v1/messages/{message}"),
    "add_reaction": Example("/v1/messages/{message}/reactions/+1"),
    "remove_reaction": Example("/v1/messages/{message}/reactions/ok"),
    "list_sessions": Example("/v1/sessions", reach=Reach.OWN),
    "end_session": Example(f"/v1/sessions/{SESSION}", reach=Reach.OWN),
    "end_sessions": Example("/v1/sessions", reach=Reach.OWN),
    "get_me": Example("/v1/me", reach=Reach.OWN),
    "update_me": Example("/v1/me", {"avatar_uri": "https://img.example.com/a.png"}, Reach.OWN),
    "start_upload": Example("/v1/uploads", UPLOADED | {"chat": "{chat}"}),
    "get_upload": Example("/v1/uploads/{upload}", reach=Reach.OWN),
    "sign_parts": Example(
        "/v1/uploads/{large}/parts", {"parts": [{"number": 1, "sha256": SHA256}]}, Reach.OWN
    ),
    "complete_upload": Example("/v1/uploads/{upload}/complete", {}, Reach.OWN),
    "delete_upload": Example("/v1/uploads/{upload}", reach=Reach.OWN),
    "get_attachment": Example("/v1/messages/{message}/attachments/{attached}", reach=Reach.PAST),
    "get_link_preview": Example("/v1/messages/{message}/link-preview", reach=Reach.PAST),
    "register_push": Example("/v1/devices/phone/push", {"fcm": {"token": "t1"}}, Reach.OWN),
    "unregister_push": Example("/v1/devices/phone/push", reach=Reach.OWN),
    "get_badge": Example("/v1/me/badge", reach=Reach.OWN),
    "get_push_preferences": Example("/v1/me/push-preferences", reach=Reach.OWN),
    "set_push_preferences": Example("/v1/me/push-preferences", {"notify": "mentions"}, Reach.OWN),
    "get_web_push_key": Example("/v1/push/web-push-key", reach=Reach.TENANT),
    "list_pushes": Example("/v1/messages/{message}/pushes", reach=Reach.SERVER),
    "get_user": Example("/v1/users/anna", reach=Reach.TENANT),
    "get_presence": Example("/v1/users/ben/presence", reach=Reach.OWN),
    "list_users": Example("/v1/users?ids=anna&ids=ben", reach=Reach.TENANT),
    "find_user": Example("/v1/user-search", {"phone_number": FOUND}, Reach.TENANT),
    "create_user": Example("/v1/users", {"id": "eve"}, Reach.SERVER),
    "update_user": Example("/v1/users/anna", {"avatar_uri": None}, Reach.SERVER),
    "list_user_sessions": Example("/v1/users/anna/sessions", reach=Reach.SERVER),
    "end_user_sessions": Example("/v1/users/anna/sessions", reach=Reach.SERVER),
    "list_directory": Example("/v1/directory", reach=Reach.SERVER),
    "erase_user": Example("/v1/users/fay", reach=Reach.SERVER),
    "export_user": Example("/v1/users/fay/export", reach=Reach.SERVER),
    "get_export": Example("/v1/users/fay/export", reach=Reach.SERVER),
    "decide_erasure": Example("/v1/users/ida/erasure/decision", {"action": "reject"}, Reach.SERVER),
    "get_erasure": Example("/v1/users/hal/erasure", reach=Reach.SERVER),
    "suspend_user": Example("/v1/users/anna/suspension", reach=Reach.SERVER),
    "unsuspend_user": Example("/v1/users/anna/suspension", reach=Reach.SERVER),
    "list_notifications": Example("/v1/inboxes/default/notifications", reach=Reach.OWN),
    "count_notifications": Example("/v1/inboxes/default/counts", reach=Reach.OWN),
    "mark_notifications_read": Example("/v1/inboxes/default/read", {}, Reach.OWN),
    "mark_notifications_unread": Example("/v1/inboxes/default/unread", {"ids": [NOTIFICATION]}, Reach.OWN),
    "mark_notifications_seen": Example("/v1/inboxes/default/seen", reach=Reach.OWN),
    "archive_notifications": Example("/v1/inboxes/default/archive", {"ids": [NOTIFICATION]}, Reach.OWN),
    "restore_notifications": Example("/v1/inboxes/default/restore", {"ids": [NOTIFICATION]}, Reach.OWN),
    "list_inboxes": Example("/v1/inboxes", reach=Reach.INBOXES),
    "get_inbox": Example("/v1/inboxes/default", reach=Reach.INBOXES),
    "set_inbox": Example("/v1/inboxes/default", {"title": "News"}, Reach.INBOXES),
    "get_inbox_defaults": Example("/v1/inbox-defaults", reach=Reach.INBOXES),
    "set_inbox_defaults": Example("/v1/inbox-defaults", {"retention_days": 90}, Reach.INBOXES),
    "send_notification": Example("/v1/inboxes/default/notifications", SENT, Reach.INBOXES),
    "find_notification": Example("/v1/inboxes/default/sent/order-7", reach=Reach.INBOXES),
    "amend_notification": Example(
        "/v1/inboxes/default/notifications/{notification}", {"message": {}}, Reach.INBOXES
    ),
    "redact_notification": Example("/v1/inboxes/default/notifications/{notification}", reach=Reach.INBOXES),
    "list_recipients": Example(
        "/v1/inboxes/default/notifications/{notification}/recipients", reach=Reach.INBOXES
    ),
    "get_preferences": Example("/v1/inboxes/default/preferences", reach=Reach.OWN),
    "change_preferences": Example(
        "/v1/inboxes/default/preferences", {"channels": {"email": True}}, reach=Reach.OWN
    ),
    "get_user_preferences": Example("/v1/inboxes/default/users/anna/preferences", reach=Reach.INBOXES),
    "change_user_preferences": Example(
        "/v1/inboxes/default/users/anna/preferences", {"channels": {"email": True}}, reach=Reach.INBOXES
    ),
    "get_email": Example("/v1/inboxes/default/email", reach=Reach.INBOXES),
    "set_email": Example("/v1/inboxes/default/email", {"sender_name": "Shop"}, Reach.INBOXES),
    "list_user_emails": Example("/v1/inboxes/default/users/anna/emails", reach=Reach.INBOXES),
    "list_notification_pushes": Example(
        "/v1/inboxes/default/notifications/{notification}/users/anna/pushes", reach=Reach.INBOXES
    ),
    "report_bounce": Example("/v1/email/bounces", {"message_id": "{mail}"}, Reach.INBOXES),
    "explain_counts": Example("/v1/inboxes/default/users/anna/explain", reach=Reach.INBOXES),
    "send_broadcast": Example("/v1/inboxes/default/broadcasts", {"message": {"title": "hi"}}, Reach.INBOXES),
    "estimate_broadcast": Example("/v1/inboxes/default/broadcast-estimate", {}, Reach.INBOXES),
    "get_broadcast": Example("/v1/inboxes/default/broadcasts/{broadcast}", reach=Reach.INBOXES),
    "ramp_broadcast": Example(
        "/v1/inboxes/default/broadcasts/{broadcast}/ramp", {"percent": 100}, Reach.INBOXES
    ),
    "halt_broadcast": Example("/v1/inboxes/default/broadcasts/{broadcast}/halt", reach=Reach.INBOXES),
    "list_readers": Example("/v1/inboxes/default/broadcasts/{broadcast}/readers", reach=Reach.INBOXES),
    "create_webhook": Example("/v1/webhooks", {"url": HOOK}, Reach.WEBHOOKS),
    "list_webhooks": Example("/v1/webhooks", reach=Reach.WEBHOOKS),
    "get_webhook": Example("/v1/webhooks/{endpoint}", reach=Reach.WEBHOOKS),
    "update_webhook": Example("/v1/webhooks/{endpoint}", {"status": "enabled"}, Reach.WEBHOOKS),
    "delete_webhook": Example("/v1/webhooks/{endpoint}", reach=Reach.WEBHOOKS),
    "rotate_webhook_secret": Example("/v1/webhooks/{endpoint}/secret", {}, Reach.WEBHOOKS),
    "test_webhook": Example("/v1/webhooks/{endpoint}/test", reach=Reach.WEBHOOKS),
    "retry_webhook": Example("/v1/webhooks/{endpoint}/retry", reach=Reach.WEBHOOKS),
    "replay_webhook": Example("/v1/webhooks/{endpoint}/replay", {"since": "{now}"}, Reach.WEBHOOKS),
    "list_webhook_deliveries": Example("/v1/webhooks/{endpoint}/deliveries", reach=Reach.WEBHOOKS),
    "list_webhook_queue": Example("/v1/webhooks/{endpoint}/queue", reach=Reach.WEBHOOKS),
    "get_before_send_hook": Example("/v1/before-send-hook", reach=Reach.WEBHOOKS),
    "set_before_send_hook": Example("/v1/before-send-hook", {"url": HOOK}, Reach.WEBHOOKS),
    "delete_before_send_hook": Example("/v1/before-send-hook", reach=Reach.WEBHOOKS),
    "list_segments": Example("/v1/segments", reach=Reach.INBOXES),
    "get_segment": Example("/v1/segments/vip", reach=Reach.INBOXES),
    "set_segment": Example(
        "/v1/segments/pros", {"predicate": {"attribute": "plan", "is": "pro"}}, Reach.INBOXES
    ),
    "upload_segment_users": Example("/v1/segments/vip/users", {"users": ["anna"]}, Reach.INBOXES),
    "activate_segment": Example("/v1/segments/vip/activate", {"version": 1}, Reach.INBOXES),
    "get_profile": Example("/v1/users/anna/profile", reach=Reach.INBOXES),
    "set_profile": Example("/v1/users/anna/profile", {"attributes": {"plan": "pro"}}, Reach.INBOXES),
    "list_jobs": Example("/v1/jobs", reach=Reach.INBOXES),
    "get_job": Example("/v1/jobs/{job}", reach=Reach.INBOXES),
    "pause_job": Example("/v1/jobs/{job}/pause", reach=Reach.INBOXES),
    "resume_job": Example("/v1/jobs/{job}/resume", reach=Reach.INBOXES),
    "cancel_job": Example("/v1/jobs/{job}/cancel", reach=Reach.INBOXES),
    "legacy_send": Example("/stack/admin/v1/{tenant}/default/messages/post", POSTED, Reach.INBOXES),
    "legacy_redact": Example(
        "/stack/admin/v1/{tenant}/default/messages/redact", {"id": "{notification}"}, Reach.INBOXES
    ),
    "legacy_list": Example("/stack/users/v1/{tenant}/default/messages/last/5", reach=Reach.ADDRESSED),
    "legacy_mark_read": Example(
        "/stack/users/v1/{tenant}/default/messages/read/", {"ids": [NOTIFICATION]}, Reach.ADDRESSED
    ),
    "request_code": Example("/v1/login/phone", {"tenant": "{tenant}", "phone": "+4915112345678"}, Reach.OPEN),
    "redeem_code": Example("/v1/login/phone/redeem", REDEEMED, Reach.OPEN),
    "refresh_session": Example("/v1/login/refresh", {"refresh_token": "tdr.x.y.z"}, Reach.OPEN),
}
"""By operation id. A route that accepts several kinds of body has an example for each, named after the kind."""


def operation_of(name: str) -> str:
    """Return the operation id of an example."""
    return name.partition(".")[0]
