export { Chat, type ChatProps } from "./chat/chat.tsx";
export { ChatHeader, type ChatHeaderProps } from "./chat/chat_header.tsx";
export {
  ChatAvatar,
  ChatList,
  ChatListItem,
  type ChatListItemProps,
  type ChatListProps,
} from "./chat/chat_list.tsx";
export { Composer, type ComposerProps } from "./chat/composer.tsx";
export { ConnectionBanner } from "./chat/connection_banner.tsx";
export { DeliveryStatus, type DeliveryStatusProps } from "./chat/delivery_status.tsx";
export { InviteList } from "./chat/invite_list.tsx";
export { JumpToNewest, type JumpToNewestProps } from "./chat/jump_to_newest.tsx";
export { Message, type MessageProps } from "./chat/message.tsx";
export { MessageActions, type MessageActionsProps } from "./chat/message_actions.tsx";
export { MessageAttachments, type MessageAttachmentsProps } from "./chat/message_attachments.tsx";
export { MessageContent, type MessageContentProps } from "./chat/message_content.tsx";
export { MessageLinkPreview, type MessageLinkPreviewProps } from "./chat/message_link_preview.tsx";
export { MessageList, type MessageListProps } from "./chat/message_list.tsx";
export { DateSeparator, type DateSeparatorProps, UnreadDivider } from "./chat/message_row.tsx";
export { Reactions, type ReactionsProps } from "./chat/reactions.tsx";
export { ReportDialog, type ReportDialogProps } from "./chat/report_dialog.tsx";
export { SystemMessage, type SystemMessageProps } from "./chat/system_message.tsx";
export { TypingIndicator, type TypingIndicatorProps } from "./chat/typing_indicator.tsx";
export { Bell, type BellProps } from "./inbox/bell.tsx";
export type { InboxCategory } from "./inbox/filters.tsx";
export { Inbox, type InboxProps } from "./inbox/inbox.tsx";
export { InboxPanel, type InboxPanelProps } from "./inbox/inbox_panel.tsx";
export {
  type InboxChannel,
  InboxPreferences,
  type InboxPreferencesProps,
} from "./inbox/inbox_preferences.tsx";
export {
  NotificationContent,
  type NotificationContentProps,
  NotificationItem,
  type NotificationItemProps,
} from "./inbox/notification_item.tsx";
export { Avatar, type AvatarProps } from "./parts/avatar.tsx";
export { Icon, type IconName } from "./parts/icon.tsx";
export {
  EmptyState,
  type EmptyStateProps,
  ErrorState,
  type ErrorStateProps,
  LoadingState,
  type LoadingStateProps,
} from "./parts/states.tsx";
export { SearchPanel, type SearchPanelProps } from "./search/search_panel.tsx";
export { SearchResult, type SearchResultProps } from "./search/search_result.tsx";
export { type Components, ComponentsProvider, useComponent } from "./slots.tsx";
