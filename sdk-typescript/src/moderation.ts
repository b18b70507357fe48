/** Report messages and users, join groups, and read what keeps the user from sending. */

import type { LightClient } from "./light_client.ts";
import { RestApi } from "./rest.ts";

/** The sender of entries by the moderators of the tenant. No user has this id. */
export const MODERATOR = "/moderator";

export type ReportReason = "spam" | "abuse" | "violence" | "sexual" | "illegal" | "other";

/** What keeps the user from sending in a chat. All times are in milliseconds. */
export interface SendRestrictions {
  /** Only admins write. False for an admin. */
  readonly isFrozen: boolean;
  /** The time between two messages of the user, in seconds. 0 for an admin, and without slow mode. */
  readonly slowModeS: number;
  /** With slow mode: when the user may send the next message. */
  readonly maySendAt?: number | undefined;
  readonly isMuted: boolean;
  /** When the mute ends. Absent: it has no end. */
  readonly mutedUntil?: number | undefined;
}

/** An invite to a group. */
export interface Invite {
  readonly chat: string;
  readonly invited_by: string;
  readonly created_at: string;
}

interface ChatAnswer {
  readonly role: string;
  readonly is_frozen: boolean;
  readonly slow_mode_seconds: number;
  readonly may_send_at?: string;
  readonly is_muted: boolean;
  readonly muted_until?: string;
}

/**
 * Reports, invites and restrictions of a client. Create one for each client that has the option `api`.
 *
 * @example
 * ```ts
 * const moderation = new Moderation(client);
 * await moderation.reportMessage("d1", 7, "spam", "The same link in every group");
 * ```
 */
export class Moderation {
  readonly #rest: RestApi;

  constructor(client: LightClient) {
    this.#rest = new RestApi(client.options);
  }

  /** Report a message to the moderators. A second report of the same message changes nothing. */
  async reportMessage(chat: string, sequence: number, reason: ReportReason, text?: string): Promise<void> {
    await this.#post(
      `/v1/messages/${encodeURIComponent(`${chat}.${sequence}`)}/report`,
      reportOf(reason, text),
    );
  }

  /** Report a user to the moderators. */
  async reportUser(user: string, reason: ReportReason, text?: string): Promise<void> {
    await this.#post(`/v1/users/${encodeURIComponent(user)}/report`, reportOf(reason, text));
  }

  /** Read what keeps the user from sending in a chat. */
  async restrictions(chat: string): Promise<SendRestrictions> {
    const found = await this.#rest.call<ChatAnswer>("GET", `/v1/chats/${encodeURIComponent(chat)}`);
    const isAdmin = found.role !== "member";
    return {
      isFrozen: found.is_frozen && !isAdmin,
      slowModeS: isAdmin ? 0 : found.slow_mode_seconds,
      maySendAt: timeOf(found.may_send_at),
      isMuted: found.is_muted,
      mutedUntil: timeOf(found.muted_until),
    };
  }

  /** Join a group that is open, or with the token of its link. */
  async join(chat: string, token?: string): Promise<void> {
    await this.#post(`/v1/chats/${encodeURIComponent(chat)}/join`, token ? { token } : {});
  }

  /** List the user's invites: the first 200. */
  async invites(): Promise<readonly Invite[]> {
    return (await this.#rest.call<{ invites: Invite[] }>("GET", "/v1/invites?limit=200")).invites;
  }

  /** Join the group of an invite. */
  async accept(chat: string): Promise<void> {
    await this.#post(`/v1/invites/${encodeURIComponent(chat)}/accept`, {});
  }

  /** Delete an invite. */
  async decline(chat: string): Promise<void> {
    await this.#rest.call("DELETE", `/v1/invites/${encodeURIComponent(chat)}`);
  }

  async #post(path: string, body: object): Promise<void> {
    await this.#rest.call("POST", path, body);
  }
}

function reportOf(reason: ReportReason, text: string | undefined) {
  return { reason, ...(text ? { text } : {}) };
}

function timeOf(at: string | undefined): number | undefined {
  return at === undefined ? undefined : Date.parse(at);
}
