/** Answers of the operations on inboxes, jobs and broadcasts. */

import type { Page } from "../parts/query_view.tsx";

export interface InboxConfig {
  id: string;
  title: string;
  description: string;
  categories: string[];
  payload_schema?: Record<string, unknown> | null;
  schema_version: number;
  retention_days?: number | null;
  expires_after_s?: number | null;
  default_category?: string | null;
  known_users?: boolean;
  version: number;
  updated_at: string;
}

export interface Job {
  id: string;
  kind: "deliver" | "redact" | "amend" | "broadcast" | "add_members" | "mail" | "push" | "index" | "erase";
  state: "running" | "paused" | "cancelled" | "done";
  inbox?: string | null;
  notification?: string | null;
  chat?: string | null;
  total: number;
  done: number;
  failed: number;
  rate_per_s: number;
  remaining_s?: number | null;
  created_at: string;
  starts_at?: string | null;
  finished_at?: string | null;
}

export interface JobPage extends Page {
  jobs: Job[];
}

export interface Preview {
  valid: boolean;
  error?: string | null;
  bytes: number;
}

/** The answer of a send, or of its dry run: then nothing is sent. */
export interface NotificationSend {
  total: number;
  sent?: { id: string; job: string } | null;
  unknown_users?: string[] | null;
}

export interface BroadcastSend {
  sent?: { id: string; jobs: string[] } | null;
  estimate?: { reach: number; low: number; high: number; dollars: number } | null;
}

export interface NotificationLookup {
  id: string;
  job: string;
  total: number;
  version: number;
  sent_at: string;
  redacted_at?: string | null;
}

export interface RecallProof {
  user: string;
  delivered_at?: string | null;
  read_at?: string | null;
  removed_at?: string | null;
}

export interface RecallProofPage extends Page {
  users: RecallProof[];
}

/** Users, selected by a predicate over their profiles or by a list with versions. */
export interface Segment {
  name: string;
  kind: "predicate" | "list";
  predicate?: Record<string, unknown> | null;
  active?: number | null;
  newest?: number | null;
  version: number;
  updated_at: string;
}

export interface Reach {
  reach: number;
  low: number;
  high: number;
  dollars: number;
}
