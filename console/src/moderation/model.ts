export type ReviewState = "open" | "applying" | "decided";
export type ReviewAction = "dismiss" | "redact" | "mute" | "ban" | "suspend";

export interface Decision {
  action: ReviewAction;
  by: string;
  at: string;
  until?: string;
  reason?: string;
}

export interface Review {
  id: string;
  state: ReviewState;
  /** The reported message. Absent: a user was reported. */
  message?: string;
  author: string;
  count: number;
  reasons: string[];
  opened_at: string;
  reported_at: string;
  decision?: Decision;
}

export interface Report {
  reporter: string;
  reason: string;
  text?: string;
  at: string;
}

export interface ContextMessage {
  message: string;
  sender: string;
  at: string;
  state: string;
  text?: string;
  is_reported: boolean;
}

export interface ReviewContext {
  review: Review;
  reports: Report[];
  chat?: string;
  chat_type?: "direct" | "group";
  messages: ContextMessage[];
}

export type TermAction = "mask" | "refuse" | "flag";

export interface ListedTerm {
  text: string;
  action: TermAction;
}

export interface ContentRules {
  words: ListedTerm[];
  domains: ListedTerm[];
}

const REASONS: Record<string, string> = {
  spam: "Spam",
  abuse: "Abuse",
  violence: "Violence",
  sexual: "Sexual content",
  illegal: "Illegal",
  other: "Other",
  content_rule: "Listed word or domain",
};

export const reasonText = (reason: string): string => REASONS[reason] ?? reason;

export const ACTION_TEXTS: Record<ReviewAction, { name: string; done: string; effect: string }> = {
  dismiss: { name: "Dismiss", done: "Dismissed", effect: "Nothing changes for users. The review is closed." },
  redact: {
    name: "Redact the message",
    done: "Message redacted",
    effect: "The content of the message is deleted for all members. This cannot be undone.",
  },
  mute: {
    name: "Mute the author",
    done: "Author muted",
    effect: "The author reads the group and may not send, edit or react. Members see it.",
  },
  ban: {
    name: "Ban the author",
    done: "Author banned",
    effect: "The author is removed from the group and cannot join it. Members see it.",
  },
  suspend: {
    name: "Suspend the user",
    done: "User suspended",
    effect: "All credentials of the user are refused and their connections are closed.",
  },
};
