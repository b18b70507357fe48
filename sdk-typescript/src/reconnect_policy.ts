/** Decide after the end of a connection whether to reconnect, when, and with which credential. Without I/O. */
import type { Backoff } from "./backoff.ts";
import { decideReconnect, type ReconnectDecision } from "./close_codes.ts";
import {
  CREDENTIAL_EXPIRED,
  CREDENTIAL_INVALID,
  FORBIDDEN,
  PROTOCOL_UNSUPPORTED,
  SESSION_REVOKED,
} from "./codes.gen.ts";
import type { Credentials } from "./credentials.ts";
import { sdkError, type TidingsError } from "./errors.ts";

const CREDENTIAL_CODES = [CREDENTIAL_EXPIRED, CREDENTIAL_INVALID, SESSION_REVOKED, FORBIDDEN];

/** How long to wait before reconnecting. `isRequested`: the server gave the delay. */
export interface ReconnectWait {
  readonly waitMs: number;
  readonly isRequested: boolean;
}

export class ReconnectPolicy {
  readonly #credentials: Credentials;
  readonly #backoff: Backoff;

  constructor(credentials: Credentials, backoff: Backoff) {
    this.#credentials = credentials;
    this.#backoff = backoff;
  }

  /** Return how long to wait before reconnecting. Throws `client_stopped` or a similar code if reconnecting cannot help. */
  after(code: number, reason: string, now: number): ReconnectWait {
    const decision = decideReconnect(code, reason);
    const isRequested = decision.retryAfterMs !== undefined;
    const waitMs = this.#backoff.waitMs(now, decision.retryAfterMs);
    if (decision.wantsCredential && this.#credentials.canRenew()) {
      return { waitMs: this.#withNewCredential(code, reason, decision, waitMs, now), isRequested };
    }
    if (decision.isTerminal || decision.wantsCredential) throw stopError(code, reason);
    return { waitMs, isRequested };
  }

  /**
   * Request another credential from the provider, and return how long to wait.
   *
   * If a new credential is refused, stop. If a new credential has already expired, a clock may be wrong: retry, with
   * the client's own backoff if it is longer.
   */
  #withNewCredential(
    code: number,
    reason: string,
    decision: ReconnectDecision,
    waitMs: number,
    now: number,
  ): number {
    const wasFresh = this.#credentials.isFresh;
    this.#credentials.renew();
    if (wasFresh && decision.isTerminal) throw stopError(code, reason);
    return wasFresh ? Math.max(waitMs, this.#backoff.waitMs(now)) : waitMs;
  }
}

function stopError(code: number, reason: string): TidingsError {
  const text = `The server closed the connection with ${code}: ${reason}`;
  if (CREDENTIAL_CODES.includes(code)) return sdkError("credential_refused", text, code);
  return sdkError(code === PROTOCOL_UNSUPPORTED ? "protocol_unsupported" : "client_stopped", text, code);
}
