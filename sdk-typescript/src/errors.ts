/** The error of the SDK. */
import type { ErrorCode } from "./codes.gen.ts";
import type { ErrorBody } from "./frames.gen.ts";

/**
 * Codes of errors that the server did not send.
 *
 * - `client_stopped`: the client was closed, or cannot continue. Messages of the outbox stay in the store.
 * - `credential_refused`: the credential is invalid or revoked. Sign in again.
 * - `protocol_unsupported`: the server does not support this client's protocol level. Update the SDK.
 * - `user_mismatch`: the credential or the store belongs to another user than the client.
 * - `store_in_use`: another client has taken over the store.
 * - `send_unconfirmed`: the client ended before the answer. The message stays in the store.
 * - `request_timeout`: a request received no answer. It may be repeated.
 * - `outbox_full`: the outbox has its maximum number of messages.
 * - `upload_failed`: the upload was cancelled, or the bucket refused the file.
 * - `request_invalid`: an argument that the server would refuse. (The server uses this code too.)
 */
export type SdkErrorCode =
  | "client_stopped"
  | "credential_refused"
  | "protocol_unsupported"
  | "user_mismatch"
  | "store_in_use"
  | "send_unconfirmed"
  | "request_timeout"
  | "outbox_full"
  | "upload_failed"
  | "request_invalid";

export type TidingsErrorCode = ErrorCode | SdkErrorCode | (string & {});

/** The fields of a `TidingsError`, for messages between tabs. */
export interface ErrorData {
  readonly code: TidingsErrorCode;
  readonly message: string;
  readonly body?: ErrorBody | undefined;
  readonly closeCode?: number | undefined;
}

/** An error of the SDK or of the server. Decide by `code`, which is stable; `message` is for people. */
export class TidingsError extends Error {
  override readonly name = "TidingsError";
  readonly code: TidingsErrorCode;
  /** The error that the server sent, if it sent one. */
  readonly body: ErrorBody | undefined;
  /** The close code, if the server closed the connection permanently. */
  readonly closeCode: number | undefined;

  constructor(data: ErrorData) {
    super(data.message);
    this.code = data.code;
    this.body = data.body;
    this.closeCode = data.closeCode;
  }

  /** Whether the same request can succeed later. */
  get retryable(): boolean {
    return this.body?.retryable ?? this.code === "request_timeout";
  }
}

export function sdkError(code: SdkErrorCode, message: string, closeCode?: number): TidingsError {
  return new TidingsError({ code, message, closeCode });
}

export function refusedError(body: ErrorBody): TidingsError {
  return new TidingsError({
    code: body.code,
    message: body.hint ? `${body.message} ${body.hint}` : body.message,
    body,
  });
}

/** Return any thrown value as a `TidingsError`. */
export function asTidingsError(error: unknown): TidingsError {
  if (error instanceof TidingsError) return error;
  return sdkError(
    "client_stopped",
    `Internal error of the client: ${error instanceof Error ? error.message : String(error)}`,
  );
}

export function errorData(error: TidingsError): ErrorData {
  // `message` is not enumerable.
  return { ...error, message: error.message };
}

/** Return whether a request received no answer. */
export function isTimeout(error: unknown): boolean {
  return error instanceof TidingsError && error.code === "request_timeout";
}
