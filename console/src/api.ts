/** Requests to the console's API, with the CSRF token and reasons. */

const ROOT = "/admin/v1";

/** An error that the API answered, as in RFC 9457. */
export class Problem extends Error {
  readonly status: number;
  readonly code: string;
  readonly hint: string | undefined;
  readonly requestId: string | undefined;

  constructor(status: number, body: Record<string, unknown>) {
    super(String(body.detail ?? body.title ?? `The server answered with ${status}.`));
    this.status = status;
    this.code = String(body.code ?? "unknown");
    this.hint = body.hint === undefined ? undefined : String(body.hint);
    this.requestId = body.request_id === undefined ? undefined : String(body.request_id);
  }

  /** Whether the operator must sign in again. */
  get isSignedOut(): boolean {
    return this.status === 401;
  }
}

export interface Session {
  operator: { id: string; name?: string; email?: string; credential: "oidc" | "bootstrap_key" };
  role: "viewer" | "support" | "operator" | "owner";
  tenants: string[];
  permissions: string[];
  csrf_token: string;
  expires_at: string;
  session: string;
}

export interface RequestOptions {
  body?: unknown;
  /** Why the operator does this. The audit log keeps it. */
  reason?: string | undefined;
  query?: Record<string, string | number | undefined>;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

let csrfToken = "";

export async function readSession(): Promise<Session> {
  const session = await send<Session>("GET", "/session", {});
  csrfToken = session.csrf_token;
  return session;
}

export async function signInWithKey(key: string): Promise<Session> {
  const session = await send<Session>("POST", "/session", { body: { key } });
  csrfToken = session.csrf_token;
  return session;
}

/** Call an operation. Throws `Problem` if the API refuses it. */
export async function call<T>(method: string, path: string, options: RequestOptions = {}): Promise<T> {
  try {
    return await send<T>(method, path, options);
  } catch (error) {
    // The token belongs to the session. A session that was renewed in another tab has a new one.
    if (!(error instanceof Problem && error.code === "csrf_invalid")) throw error;
    await readSession();
    return await send<T>(method, path, options);
  }
}

async function send<T>(method: string, path: string, options: RequestOptions): Promise<T> {
  const response = await fetch(ROOT + path + queryOf(options.query), {
    method,
    headers: headersOf(method, options),
    body: options.body === undefined ? null : JSON.stringify(options.body),
    signal: options.signal ?? null,
  });
  if (response.status === 204) return undefined as T;
  const body = await response.json().catch(() => ({}));
  if (!response.ok) throw new Problem(response.status, body);
  return body;
}

function headersOf(method: string, { body, reason, headers }: RequestOptions): Record<string, string> {
  return {
    ...headers,
    ...(body === undefined ? {} : { "Content-Type": "application/json" }),
    ...(method === "GET" ? {} : { "Tidings-CSRF": csrfToken }),
    ...(reason ? { "Tidings-Reason": encodeURIComponent(reason) } : {}),
  };
}

function queryOf(query: RequestOptions["query"] = {}): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)]],
  );
  return given.length ? `?${new URLSearchParams(given)}` : "";
}

/** Return a path with encoded parts: path`/users/${user}`. */
export function path(texts: TemplateStringsArray, ...parts: string[]): string {
  return String.raw({ raw: texts }, ...parts.map(encodeURIComponent));
}
