/** Answers about exports and erasures of users. */

import type { Page } from "../parts/query_view.tsx";

export type ErasureState = "awaiting_approval" | "rejected" | "expired" | "running" | "erased" | "final";

/** The fields that the erasure of a user and the deletion of a tenant share. */
export interface ErasureProgress {
  id: string;
  state: ErasureState;
  step: string;
  requested_at: string;
  requested_by: string;
  /** While the request waits for an approval. */
  expires_at?: string;
  decided_by?: string;
  decided_at?: string;
  counts: Record<string, number>;
  certificate?: string;
}

export interface Erasure extends ErasureProgress {
  user: string;
}

export interface ErasurePage extends Page {
  erasures: Erasure[];
  /** The deletion of the whole tenant, on the first page. */
  deletion?: ErasureProgress;
}

export interface Export {
  id: string;
  state: "running" | "ready" | "failed" | "expired";
  requested_at: string;
  finished_at?: string;
  expires_at: string;
  counts: { chats: number; entries: number; notifications: number; attachments: number };
  size?: number;
  failure?: string;
  url?: string;
  url_expires_at?: string;
}

export interface DataRequests {
  /** Whether the installation has a bucket for archives. */
  can_export: boolean;
  export?: Export;
  erasure?: Erasure;
}

export type DecisionAction = "approve" | "reject";

export const STATE_TEXTS: Record<ErasureState, string> = {
  awaiting_approval: "Waits for approval",
  rejected: "Rejected",
  expired: "Expired without approval",
  running: "Erasing",
  erased: "Erased",
  final: "Erased, also from backups",
};

/** The steps in their order, with what each one does. `docs/adr/0039-erase-a-user.md` gives the reasons. */
export const STEP_TEXTS: Record<string, string> = {
  fence: "Refuse all credentials",
  credentials: "Delete sessions and devices",
  keys: "Destroy the keys",
  quiet: "Wait until no process accepts messages of the user",
  leave: "Leave all chats",
  settled: "Wait until no process writes to the chats",
  chats: "Empty messages and replace the id",
  uploads: "Delete files",
  search: "Delete search documents",
  inbox: "Delete notifications",
  rows: "Delete chat rows and blocks",
  profile: "Delete the profile",
  certificate: "Sign the certificate",
  final: "Wait until no backup has a key of the user",
  done: "Done",
};

/** Whether the user no longer exists, or is being erased. */
export function isErasing(erasure: ErasureProgress | undefined): boolean {
  return erasure !== undefined && ["running", "erased", "final"].includes(erasure.state);
}
