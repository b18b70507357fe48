/**
 * Tidings for Node servers: sign tokens for users, call the REST API and verify webhooks.
 *
 * @packageDocumentation
 */
export { type ErrorCode, type Problem, TidingsError } from "./errors.ts";
export type {
  CallArguments,
  OperationName,
  OperationRequest,
  OperationResult,
  RequestOptions,
} from "./operations.ts";
export { ServerClient, type ServerClientOptions } from "./server_client.ts";
export { type PrivateJwk, type TokenClaims, TokenSigner, type TokenSignerOptions } from "./tokens.ts";
export {
  type WebhookEvent,
  type WebhookHeaders,
  WebhookRejected,
  WebhookVerifier,
  type WebhookVerifierOptions,
} from "./webhooks.ts";
