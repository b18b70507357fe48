/** Decide by a close code whether to reconnect, when, and with which credential. Uses the ranges of codes. */
import {
  CREDENTIAL_EXPIRED,
  CREDENTIAL_INVALID,
  FIRST_TERMINAL,
  FORBIDDEN,
  LAST_TERMINAL,
} from "./codes.gen.ts";

export const NO_CLOSE_FRAME = 1006;
const CLIENT_ERRORS = [1002, 1003, 1007, 1008, 1009, 1010];
const RETRY_AFTER = /\bretry_after_ms=(\d{1,9})\b/;

/** Whether and when to reconnect. Without `retryAfterMs`, the server gave no delay: use the backoff. */
export interface ReconnectDecision {
  readonly isTerminal: boolean;
  readonly retryAfterMs: number | undefined;
  readonly wantsCredential: boolean;
}

export function decideReconnect(code: number, reason: string): ReconnectDecision {
  const delay = RETRY_AFTER.exec(reason)?.[1];
  return {
    isTerminal: (code >= FIRST_TERMINAL && code <= LAST_TERMINAL) || CLIENT_ERRORS.includes(code),
    retryAfterMs: delay === undefined ? undefined : Number(delay),
    wantsCredential: code === CREDENTIAL_EXPIRED || code === CREDENTIAL_INVALID,
  };
}

const CODE_BY_ERROR = new Map([
  ["credential_invalid", CREDENTIAL_INVALID],
  ["credential_expired", CREDENTIAL_EXPIRED],
  ["forbidden", FORBIDDEN],
]);

/** Return the close code that follows a refused `connect`, if the close frame itself was lost. */
export function closeCodeForError(errorCode: string): number {
  return CODE_BY_ERROR.get(errorCode) ?? NO_CLOSE_FRAME;
}
