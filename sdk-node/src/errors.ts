import type { components } from "./api.gen.ts";

/** A stable error code, the same in REST, WebSocket frames and commands. */
export type ErrorCode = components["schemas"]["Code"];

/** The body of an error response. */
export type Problem = components["schemas"]["Problem"];

/**
 * The request had no effect that the caller can rely on: the server rejected it, or no answer arrived.
 *
 * `code` is `unreachable` if no answer of Tidings arrived. The request may then have taken effect; a retry with the
 * same idempotency key is safe.
 */
export class TidingsError extends Error {
  override readonly name = "TidingsError";
  readonly code: ErrorCode | "unreachable";
  /** The HTTP status; 0 if no answer arrived. */
  readonly status: number;
  /** Whether the same request can succeed later. */
  readonly retryable: boolean;
  /** Do not retry earlier than this. */
  readonly retryAfterMs: number | undefined;
  /** Identifies the request in the server's log. */
  readonly requestId: string | undefined;
  /** How to resolve the error. */
  readonly hint: string | undefined;
  /** All invalid fields of the request. */
  readonly fields: NonNullable<Problem["errors"]>;

  constructor(problem: Partial<Problem> & { detail: string }, options?: ErrorOptions) {
    super(problem.code ? `${problem.code}: ${problem.detail}` : problem.detail, options);
    this.code = problem.code ?? "unreachable";
    this.status = problem.status ?? 0;
    this.retryable = problem.retryable ?? true;
    this.retryAfterMs = problem.retry_after_ms ?? undefined;
    this.requestId = problem.request_id;
    this.hint = problem.hint ?? undefined;
    this.fields = problem.errors ?? [];
  }
}

/** Return the error of a response that is not a success. A proxy may have answered without a problem document. */
export function errorFromResponse(status: number, body: unknown): TidingsError {
  if (typeof body === "object" && body !== null && "code" in body && "detail" in body) {
    return new TidingsError(body as Problem);
  }
  const detail = `The server answered with status ${status} and no error code. Check the URL and the proxies before it.`;
  return new TidingsError({ detail, status, retryable: status >= 500 });
}
