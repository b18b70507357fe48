/** Requests to the REST API, for what does not go over the WebSocket. */
import { Backoff } from "./backoff.ts";
import { now } from "./clock.ts";
import { Credentials } from "./credentials.ts";
import { refusedError, sdkError, TidingsError } from "./errors.ts";
import type { ErrorBody } from "./frames.gen.ts";
import type { ClientOptions } from "./light_client.ts";

const TIMEOUT_MS = 30_000;
const MAX_TRIES = 6;

/** The body of an error response (RFC 9457). */
interface Problem extends Partial<Omit<ErrorBody, "message" | "docs">> {
  readonly detail?: string;
  readonly type?: string;
}

export class RestApi {
  readonly #root: string;
  readonly #credentials: Credentials;

  constructor({ api, token }: Pick<ClientOptions, "api" | "token">) {
    if (!api)
      throw sdkError(
        "request_invalid",
        "Attachments, moderation and search need the option `api` of the client.",
      );
    this.#root = api.replace(/\/+$/, "");
    this.#credentials = new Credentials(token);
  }

  /** Send a request. Rejects with the server's code, or with `request_timeout` if there is no answer. */
  async call<T>(method: string, path: string, body?: object, signal?: AbortSignal): Promise<T> {
    for (let isRenewed = false; ; isRenewed = true) {
      const response = await this.#fetch(method, path, body, signal);
      if (response.ok) return (response.status === 204 ? undefined : await response.json()) as T;
      const problem = (await response.json().catch(() => ({}))) as Problem;
      if (response.status === 401 && !isRenewed && this.#credentials.canRenew()) this.#credentials.renew();
      else throw problemError(problem, response.status);
    }
  }

  async #fetch(method: string, path: string, body?: object, signal?: AbortSignal): Promise<Response> {
    const headers: Record<string, string> = { Authorization: `Bearer ${await this.#credentials.get()}` };
    if (body) headers["Content-Type"] = "application/json";
    const timeout = AbortSignal.timeout(TIMEOUT_MS);
    try {
      return await fetch(this.#root + path, {
        method,
        headers,
        body: body ? JSON.stringify(body) : null,
        signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
      });
    } catch (error) {
      throw sdkError("request_timeout", `${method} ${path} received no answer: ${error}`);
    }
  }
}

function problemError({ type = "", detail, ...problem }: Problem, status: number): TidingsError {
  return refusedError({
    code: "internal",
    retryable: status >= 500,
    hint: "",
    ...problem,
    message: detail ?? `The server answered with ${status}.`,
    docs: type,
  });
}

/** Repeat `work` with growing waits while its error is retryable, at most `MAX_TRIES` times, until `signal` is aborted. */
export async function retried<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  const backoff = new Backoff(Math.random, 1_000, 20_000);
  for (let tries = 1; ; tries++) {
    signal?.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      const isFinal = !(error instanceof TidingsError && error.retryable);
      if (isFinal || tries === MAX_TRIES || signal?.aborted) throw error;
      await wait(backoff.waitMs(now(), error.body?.retry_after_ms), signal);
    }
  }
}

/** Wait, or until `signal` is aborted. */
export function wait(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", done, { once: true });
    function done() {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    }
  });
}
