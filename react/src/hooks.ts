export type { Theme, TidingsSettings, UserLookup, UserProfile } from "./context.ts";
export {
  type AttachmentLinkState,
  useAttachmentLink,
  useAttachments,
  useLinkPreview,
  useMessageAttachments,
} from "./hooks/attachments.ts";
export { type MessagesState, useChat, useMessage, useMessageStatus, useMessages } from "./hooks/chat.ts";
export {
  type ChatListState,
  type UseChatListOptions,
  type UseUnreadCountOptions,
  useChatList,
  useChatRow,
  useUnreadCount,
} from "./hooks/chat_list.ts";
export { useClient, useConnection, useCurrentUser, useSettings } from "./hooks/client.ts";
export { type Composer as ComposerState, useComposer } from "./hooks/composer.ts";
export { usePresence, useTyping } from "./hooks/ephemeral.ts";
export {
  type InboxFilter,
  type InboxState,
  type UseInboxOptions,
  useInbox,
  useNotification,
} from "./hooks/inbox.ts";
export { type InboxPreferencesState, useInboxPreferences } from "./hooks/inbox_preferences.ts";
export {
  type InvitesState,
  type SendRestriction,
  useInvites,
  useModeration,
  useSendRestriction,
} from "./hooks/moderation.ts";
export { useObservable, useSelected } from "./hooks/observable.ts";
export { type SearchState, useMessageSearch, useSearch } from "./hooks/search.ts";
export { directUser, type UserView, useChatNames, useUser, useUserNames } from "./hooks/user.ts";
export { dayOf, LocaleFormat, type TextValues } from "./locale/format.ts";
export type { Locale, PluralText, TextKey, Texts } from "./locale/texts.ts";
export { TidingsProvider, type TidingsProviderProps, type TidingsSettingsProps } from "./provider.tsx";
