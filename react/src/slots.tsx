import { type ComponentType, createContext, type ReactNode, useContext, useRef } from "react";
import type { ChatHeaderProps } from "./chat/chat_header.tsx";
import type { ChatListItemProps } from "./chat/chat_list.tsx";
import type { ComposerProps } from "./chat/composer.tsx";
import type { DeliveryStatusProps } from "./chat/delivery_status.tsx";
import type { JumpToNewestProps } from "./chat/jump_to_newest.tsx";
import type { MessageProps } from "./chat/message.tsx";
import type { MessageActionsProps } from "./chat/message_actions.tsx";
import type { MessageAttachmentsProps } from "./chat/message_attachments.tsx";
import type { MessageContentProps } from "./chat/message_content.tsx";
import type { MessageLinkPreviewProps } from "./chat/message_link_preview.tsx";
import type { DateSeparatorProps } from "./chat/message_row.tsx";
import type { ReactionsProps } from "./chat/reactions.tsx";
import type { SystemMessageProps } from "./chat/system_message.tsx";
import type { TypingIndicatorProps } from "./chat/typing_indicator.tsx";
import type { BellProps } from "./inbox/bell.tsx";
import type { NotificationContentProps, NotificationItemProps } from "./inbox/notification_item.tsx";
import type { AvatarProps } from "./parts/avatar.tsx";
import type { EmptyStateProps, ErrorStateProps, LoadingStateProps } from "./parts/states.tsx";
import type { SearchResultProps } from "./search/search_result.tsx";

/** Every part that an app can replace. A replacement receives the same props as the part. */
export interface Components {
  Avatar: ComponentType<AvatarProps>;
  EmptyState: ComponentType<EmptyStateProps>;
  ErrorState: ComponentType<ErrorStateProps>;
  LoadingState: ComponentType<LoadingStateProps>;

  ConnectionBanner: ComponentType;
  ChatListItem: ComponentType<ChatListItemProps>;
  ChatHeader: ComponentType<ChatHeaderProps>;
  Message: ComponentType<MessageProps>;
  MessageContent: ComponentType<MessageContentProps>;
  MessageAttachments: ComponentType<MessageAttachmentsProps>;
  MessageLinkPreview: ComponentType<MessageLinkPreviewProps>;
  MessageActions: ComponentType<MessageActionsProps>;
  Reactions: ComponentType<ReactionsProps>;
  DeliveryStatus: ComponentType<DeliveryStatusProps>;
  SystemMessage: ComponentType<SystemMessageProps>;
  DateSeparator: ComponentType<DateSeparatorProps>;
  UnreadDivider: ComponentType;
  TypingIndicator: ComponentType<TypingIndicatorProps>;
  JumpToNewest: ComponentType<JumpToNewestProps>;
  Composer: ComponentType<ComposerProps>;
  SearchResult: ComponentType<SearchResultProps>;

  Bell: ComponentType<BellProps>;
  NotificationItem: ComponentType<NotificationItemProps>;
  NotificationContent: ComponentType<NotificationContentProps>;
}

const ComponentsContext = /* @__PURE__ */ createContext<Partial<Components>>({});

/**
 * Replace parts in all components below. Replacements of an outer provider stay in effect.
 *
 * An object with the same components counts as the same, so `components={{ Avatar }}` does not render every message
 * again.
 */
export function ComponentsProvider(props: {
  components: Partial<Components> | undefined;
  children: ReactNode;
}): ReactNode {
  const outer = useContext(ComponentsContext);
  const merged = useRef(outer);
  const next = { ...outer, ...props.components };
  if (!hasSameEntries(merged.current, next)) merged.current = next;
  return <ComponentsContext.Provider value={merged.current}>{props.children}</ComponentsContext.Provider>;
}

/** Return the app's replacement of a part, else the part itself. */
export function useComponent<K extends keyof Components>(name: K, fallback: Components[K]): Components[K] {
  // The type of one part, not the union of all parts.
  const replacements = useContext(ComponentsContext) as unknown as Record<K, Components[K] | undefined>;
  return replacements[name] ?? fallback;
}

function hasSameEntries(a: Partial<Components>, b: Partial<Components>): boolean {
  const names = Object.keys(b) as (keyof Components)[];
  return names.length === Object.keys(a).length && names.every((name) => a[name] === b[name]);
}
