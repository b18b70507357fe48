import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { errorFromResponse, TidingsError } from "./errors.ts";
import { OPERATIONS } from "./operations.gen.ts";
import type { CallArguments, OperationName, OperationResult, RequestOptions } from "./operations.ts";

/** Where the API is and how the client authenticates. */
export interface ServerClientOptions {
  /** The URL of the REST API, without `/v1`. */
  url: string;
  /** An API key of the tenant, or a token of a user. */
  apiKey: string;
  /** How long to wait for an answer. Default: 30,000. */
  timeoutMs?: number;
  /** How often a retryable request is sent again. Default: 3. */
  maxRetries?: number;
  /** Default: the global `fetch`. */
  fetch?: typeof globalThis.fetch;
}

interface PlainRequest extends RequestOptions {
  path?: Record<string, string>;
  query?: Record<string, unknown>;
  body?: { client_message_id?: string };
}

const FIRST_DELAY_MS = 200;

/**
 * Call the REST API of Tidings from a server.
 *
 * Reads, and writes with an idempotency key, are sent again if they fail with a retryable error or without an answer.
 * The client chooses a key for every operation that accepts one, so a retry never sends a message twice.
 */
export class ServerClient {
  readonly #options: ServerClientOptions;

  constructor(options: ServerClientOptions) {
    this.#options = { ...options, url: options.url.replace(/\/+$/, "") };
  }

  /**
   * Call an operation by its `operationId` and return the body of the answer.
   *
   * Throws a `TidingsError` if the server rejects the request or cannot be reached.
   */
  async call<O extends OperationName>(operation: O, ...args: CallArguments<O>): Promise<OperationResult<O>> {
    const [method, template, hasKey] = OPERATIONS[operation];
    const request: PlainRequest = { ...(args[0] as PlainRequest | undefined) };
    if (hasKey) request.idempotencyKey ??= request.body?.client_message_id ?? randomUUID();
    const mayRetry = method !== "POST" || request.idempotencyKey !== undefined;
    const attempts = mayRetry ? (this.#options.maxRetries ?? 3) + 1 : 1;
    for (let attempt = 1; ; attempt++) {
      try {
        return (await this.#send(method, template, request)) as OperationResult<O>;
      } catch (error) {
        if (!(error instanceof TidingsError && error.retryable) || attempt >= attempts) throw error;
        await sleep(delayMs(attempt, error.retryAfterMs), undefined, signalOption(request.signal));
      }
    }
  }

  async #send(method: string, template: string, request: PlainRequest): Promise<unknown> {
    const { url, timeoutMs = 30_000, fetch = globalThis.fetch } = this.#options;
    const timeout = AbortSignal.timeout(timeoutMs);
    let response: Response;
    let text: string;
    try {
      response = await fetch(url + pathFromTemplate(template, request), {
        method,
        headers: this.#headers(request),
        ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
        signal: request.signal ? AbortSignal.any([request.signal, timeout]) : timeout,
      });
      text = await response.text();
    } catch (error) {
      request.signal?.throwIfAborted();
      throw new TidingsError({ detail: `No answer from ${url}: ${reason(error)}.` }, { cause: error });
    }
    const body = parseJson(text);
    if (!response.ok) throw errorFromResponse(response.status, body);
    return body;
  }

  #headers(request: PlainRequest): Record<string, string> {
    const headers: Record<string, string> = { Authorization: `Bearer ${this.#options.apiKey}` };
    if (request.body !== undefined) headers["Content-Type"] = "application/json";
    if (request.user !== undefined) headers["Tidings-User"] = request.user;
    if (request.idempotencyKey !== undefined) headers["Idempotency-Key"] = request.idempotencyKey;
    return headers;
  }
}

function pathFromTemplate(template: string, { path = {}, query = {} }: PlainRequest): string {
  const filled = template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name] ?? ""));
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (each !== undefined && each !== null) search.append(name, String(each));
    }
  }
  return search.size ? `${filled}?${search}` : filled;
}

function parseJson(text: string): unknown {
  try {
    return text ? JSON.parse(text) : undefined;
  } catch {
    return undefined;
  }
}

function delayMs(attempt: number, atLeastMs = 0): number {
  return Math.max(atLeastMs, FIRST_DELAY_MS * 2 ** (attempt - 1) * (0.5 + Math.random()));
}

function signalOption(signal: AbortSignal | undefined): { signal?: AbortSignal } {
  return signal ? { signal } : {};
}

function reason(error: unknown): string {
  const { cause } = error as { cause?: { code?: string; message?: string } };
  return cause?.code ?? cause?.message ?? String((error as Error).message);
}
