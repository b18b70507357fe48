"""The permission check of each action in a chat, as the log expects it."""

from tidings.chats.model import MemberStatus
from tidings.chats.rules import ChatAction, check_permission, check_rules
from tidings.kernel.errors import Code
from tidings.messages.edits import ChangePermissions
from tidings.messages.model import PermissionCheck, Refusal, RulesCheck, RulesContext


def permission_check(action: ChatAction) -> PermissionCheck[MemberStatus]:
    def check(status: MemberStatus, after: int | None, /) -> Code | None:
        return check_permission(action, status, after)

    return check


def rules_check(action: ChatAction) -> RulesCheck[MemberStatus]:
    def check(status: MemberStatus, context: RulesContext, /) -> Refusal | None:
        return check_rules(action, status, context)

    return check


CHANGE_PERMISSIONS = ChangePermissions(
    edit_own=permission_check(ChatAction.EDIT_OWN),
    redact_own=permission_check(ChatAction.REDACT_OWN),
    redact_others=permission_check(ChatAction.REDACT_OTHERS),
    react=permission_check(ChatAction.REACT),
    obeys=rules_check(ChatAction.EDIT_OWN),
)
