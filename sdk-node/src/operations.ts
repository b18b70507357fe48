import type { operations } from "./api.gen.ts";
import type { OPERATIONS } from "./operations.gen.ts";

/** The name of an operation of the REST API: its `operationId`. */
export type OperationName = keyof typeof OPERATIONS & keyof operations;

type Parameters<O extends OperationName, In extends string> =
  operations[O]["parameters"] extends Record<In, infer P> ? P : never;

type JsonBody<T> = T extends { content: { "application/json": infer B } } ? B : never;

type OptionalKeys<T> = { [K in keyof T]-?: object extends Pick<T, K> ? K : never }[keyof T];

// A property that is absent, optional or required, like the parameters that it holds.
type Part<Name extends string, T> = [T] extends [never]
  ? unknown
  : keyof T extends OptionalKeys<T>
    ? { [K in Name]?: T }
    : { [K in Name]: T };

type RequestBody<O extends OperationName> = operations[O] extends { requestBody: infer B }
  ? { body: JsonBody<B> }
  : operations[O] extends { requestBody?: infer B }
    ? [JsonBody<NonNullable<B>>] extends [never]
      ? unknown
      : { body?: JsonBody<NonNullable<B>> }
    : unknown;

/** Options of every request. */
export interface RequestOptions {
  /** Act for this user. Requires an API key with the scope `act_as_user`. */
  user?: string;
  /** Chosen by the client if the operation accepts one. Give your own to make retries of your own code safe. */
  idempotencyKey?: string;
  /** Aborts the request and its retries. */
  signal?: AbortSignal;
}

/** The path, query and body of an operation. */
export type OperationRequest<O extends OperationName> = Part<"path", NonNullable<Parameters<O, "path">>> &
  Part<"query", NonNullable<operations[O]["parameters"]["query"]>> &
  RequestBody<O> &
  RequestOptions;

type Success<R> = { [S in keyof R & (200 | 201 | 202)]: JsonBody<R[S]> }[keyof R & (200 | 201 | 202)];

type NoContent<R> = 204 extends keyof R ? undefined : never;

/** The body of a successful answer; `undefined` for answers with status 204. */
export type OperationResult<O extends OperationName> = [Success<operations[O]["responses"]>] extends [never]
  ? undefined
  : Success<operations[O]["responses"]> | NoContent<operations[O]["responses"]>;

/** The arguments of a call: the request is optional if the operation needs none. */
export type CallArguments<O extends OperationName> =
  object extends OperationRequest<O> ? [request?: OperationRequest<O>] : [request: OperationRequest<O>];
