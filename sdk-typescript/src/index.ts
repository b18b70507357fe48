/** The TypeScript client of Tidings. Start with {@link Client}. */
export { type Attachment, attachmentsOf } from "./attachments/attachment_info.ts";
export { type AttachmentLink, Attachments, type LinkPreview } from "./attachments/attachments.ts";
export type { AttachmentInfo, Upload, UploadOptions, UploadProgress } from "./attachments/upload.ts";
export { MemoryUploadStore, type StoredUpload, type UploadStore } from "./attachments/upload_store.ts";
export type { Chat } from "./chat.ts";
export type { ChatList } from "./chat_list.ts";
export { Client } from "./client.ts";
export { type SdkErrorCode, TidingsError, type TidingsErrorCode } from "./errors.ts";
export type { Feed } from "./feed.ts";
export type {
  ApnsToken,
  Badge,
  BroadcastUpdate,
  CategoryPreferences,
  ChatRow,
  Entry,
  ErrorBody,
  HistoryPage,
  InboxCounts,
  InboxPreferences,
  InboxUpdate,
  JsonObject,
  MessageState,
  Notification,
  NotificationPage,
  PushPreferences,
  QuietHours,
  Reaction,
  RegisterPush,
  SetPushPreferences,
  WebPushSubscription,
} from "./frames.gen.ts";
export type { Inbox, PreferenceChanges } from "./inbox.ts";
export { type ClientOptions, LightClient, type Platform } from "./light_client.ts";
export {
  type Invite,
  MODERATOR,
  Moderation,
  type ReportReason,
  type SendRestrictions,
} from "./moderation.ts";
export type { PresenceMap } from "./presence.ts";
export { PushNotifications, subscribeToPush, unsubscribeFromPush } from "./push.ts";
export {
  type FoundMessage,
  type Highlight,
  MessageSearch,
  type SearchOptions,
  type SearchPage,
  type SearchQuery,
  type SearchResult,
} from "./search.ts";
export { IndexedDbStore } from "./stores/indexeddb.ts";
export { MemoryStore } from "./stores/memory.ts";
export type {
  OutboxEntry,
  Store,
  StoreBatch,
  StoredMessages,
  StoredState,
  StoreOwner,
} from "./stores/store.ts";
export type { TabChannel, TabEnvironment, TabGroup, TabHost, TabLocks } from "./tabs.ts";
export type { Timeline } from "./timeline.ts";
export type * from "./types.ts";
