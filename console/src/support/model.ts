/** Answers of the support operations. */

import type { Page } from "../parts/query_view.tsx";

export interface User {
  id: string;
  phone?: string;
  display_name?: string;
  created_at: string;
  updated_at: string;
  suspended_at?: string;
}

export interface UserOverview {
  user: User;
  presence?: "online" | "offline";
  last_seen_at?: string;
  chats?: number;
}

export interface UserPageAnswer extends Page {
  users: User[];
}

export interface Device {
  id: string;
  gateway: string;
  connected_since: string;
  is_gateway_running: boolean;
}

export interface UserSession {
  id: string;
  device: string;
  device_name?: string;
  created_at: string;
  refreshed_at: string;
  expires_at: string;
}

export interface ChatSummary {
  id: string;
  type: "direct" | "group";
  name?: string;
  others: string[];
  more_others: number;
  last_activity_at?: string;
  newest_message?: string;
  is_member: boolean;
  /** While one of two members blocks the other, messages of both are refused. */
  blocks_other?: boolean;
  blocked_by_other?: boolean;
}

export interface ChatPageAnswer extends Page {
  chats: ChatSummary[];
}

export interface MessageMetadata {
  message: string;
  committed_at: string;
  kind: string;
  sender: string;
  refers_to?: string | number;
  edited_at?: string;
  redacted_at?: string;
}

export interface MessagePage {
  messages: MessageMetadata[];
  has_earlier: boolean;
  has_later: boolean;
}

export interface MessageContent {
  message: string;
  /** `active` or `edited`, or why there is no content: `redacted`, `expired` or `erased`. */
  state: string;
  content?: { text?: string };
}

export interface TimelineStep {
  step: "committed" | "published" | "handled" | "delivered" | "read" | "waiting" | "stopped";
  at?: string | null;
  user?: string | null;
  text: string;
}

/** One request to a push provider. `status` is null without an answer. */
export interface PushAttempt {
  at: string;
  action: "alert" | "update" | (string & {});
  status: number | null;
  answer: string;
  provider_id: string;
}

/** The push notification to one device; `device` is null for a decision about all of them. */
export interface PushTrace {
  device: string | null;
  outcome: "sent" | "retrying" | "gone" | "failed" | "skipped" | (string & {});
  verdict: string;
  at: string;
  attempts: PushAttempt[];
}

export interface RecipientTrace {
  user: string;
  state: string;
  verdict: string;
  notes: string[];
  devices: { id: string; gateway: string; connected_since: string }[];
  pushes: PushTrace[];
}

export interface Trace {
  message_id: string;
  outcome: string;
  verdict: string;
  kind: string;
  sender: string;
  committed_at: string;
  recipients: RecipientTrace[];
  has_more_recipients: boolean;
  timeline: TimelineStep[];
}

/** A position in a chat. `ordinal` counts messages only, `sequence` all entries. */
export interface LogPosition {
  sequence: number;
  ordinal: number;
}

/** `unread` is the ordinal of `head` minus the ordinal of the position that `counts_after` names. */
export interface UnreadExplanation {
  unread: number;
  head: LogPosition;
  read?: LogPosition;
  own?: LogPosition;
  joined?: LogPosition;
  counts_after: "read" | "own" | "joined" | (string & {});
}

export interface BadgeReason {
  id: string;
  category?: string | null;
  is_counted: boolean;
  why: string;
  since: string;
}

export interface BadgeExplanation extends Page {
  counts: { unread: number; unseen: number };
  notifications: BadgeReason[];
}
