/** The REST API of uploads and the bucket, behind `fetch`. It checks what the real ones check. */
import { createHash } from "node:crypto";
import { vi } from "vitest";

interface ScriptedUpload {
  id: string;
  chat: string;
  name: string;
  size: number;
  type: string;
  sha256: string;
  state: string;
  parts: Map<number, Uint8Array>;
}

interface PartSum {
  number: number;
  sha256: string;
}

const MULTIPART_OVER = 16;
export const PART_BYTES = 8;

export class ScriptedBucket {
  readonly uploads = new Map<string, ScriptedUpload>();
  /** The method and path of every request, without the host. */
  readonly requests: string[] = [];
  readonly tokens: string[] = [];
  /** Called before each request. It may answer instead, throw, or wait. */
  intercept: (request: string) => Promise<Response | undefined> | Response | undefined = () => undefined;
  expiresAt = () => Date.now() + 300_000;

  constructor() {
    vi.stubGlobal("fetch", (url: string, init: RequestInit) => this.#answer(url, init));
  }

  /** The numbers of the parts that were sent, in this order. */
  get sentParts(): number[] {
    return this.requests.flatMap((each) => {
      const match = /^PUT \/bucket\/\w+\/(\d+)/.exec(each);
      return match && match[1] !== "0" ? [Number(match[1])] : [];
    });
  }

  async #answer(url: string, { method = "GET", headers, body, signal }: RequestInit): Promise<Response> {
    const { pathname } = new URL(url);
    const request = `${method} ${pathname}`;
    this.requests.push(request);
    const given = new Headers(headers);
    if (given.has("authorization")) this.tokens.push(given.get("authorization") ?? "");
    signal?.throwIfAborted();
    const aborted = new Promise<never>((_, reject) =>
      signal?.addEventListener("abort", () => reject(signal.reason), { once: true }),
    );
    aborted.catch(() => undefined);
    const intercepted = await Promise.race([this.intercept(request), aborted]);
    if (intercepted) return intercepted;
    if (pathname.startsWith("/bucket/")) return this.#put(pathname, given, body as Blob);
    return this.#rest(request, typeof body === "string" ? JSON.parse(body) : undefined);
  }

  async #put(path: string, headers: Headers, body: Blob): Promise<Response> {
    const [, , id = "", part] = path.split("/");
    const bytes = new Uint8Array(await body.arrayBuffer());
    const sum = createHash("sha256").update(bytes).digest("base64");
    if (sum !== headers.get("x-amz-checksum-sha256"))
      return new Response("<Code>BadDigest</Code>", { status: 400 });
    this.uploads.get(id)?.parts.set(Number(part), bytes);
    return new Response();
  }

  #rest(request: string, body: Record<string, unknown>): Response {
    const [, id = "", action] = /^\w+ \/v1\/uploads\/?(\w*)\/?(\w*)$/.exec(request) ?? [];
    if (request.startsWith("GET /v1/messages/"))
      return Response.json({ id: "u", url: `http://b/${this.requests.length}`, expires_at: this.#expiry() });
    if (request === "POST /v1/uploads") return this.#start(body);
    const upload = this.uploads.get(id);
    if (!upload) return problem(404, "upload_not_found");
    if (request.startsWith("DELETE")) this.uploads.delete(id);
    if (action === "parts")
      return Response.json({ parts: (body.parts as PartSum[]).map((part) => signed(id, part)) });
    return action === "complete" ? this.#complete(upload, body) : Response.json(this.#shown(upload));
  }

  #start(body: Record<string, unknown>): Response {
    const id = `u${this.uploads.size + 1}`;
    const upload = { ...(body as unknown as ScriptedUpload), id, state: "pending", parts: new Map() };
    this.uploads.set(id, upload);
    const put = signed(id, { number: 0, sha256: upload.sha256 });
    return Response.json({ ...this.#shown(upload), ...(upload.size <= MULTIPART_OVER && { put }) });
  }

  #complete(upload: ScriptedUpload, body: Record<string, unknown>): Response {
    const bytes = Buffer.concat([...upload.parts].sort(([a], [b]) => a - b).map(([, part]) => part));
    if (createHash("sha256").update(bytes).digest("base64") !== upload.sha256)
      return problem(409, "upload_incomplete");
    const named = (body.parts as PartSum[]).length;
    if (upload.size > MULTIPART_OVER && named !== upload.parts.size) return problem(400, "request_invalid");
    upload.state = "uploaded";
    return Response.json(this.#shown(upload));
  }

  #shown({ parts, ...upload }: ScriptedUpload): object {
    const isDivided = upload.size > MULTIPART_OVER;
    const received = [...parts].map(([number, { length }]) => ({ number, size: length }));
    const division = { part_bytes: PART_BYTES, part_count: Math.ceil(upload.size / PART_BYTES), received };
    return { ...upload, expires_at: this.#expiry(), ...(isDivided && division) };
  }

  #expiry(): string {
    return new Date(this.expiresAt()).toISOString();
  }
}

function signed(id: string, { number, sha256 }: PartSum): object {
  const headers = { "Content-Length": "1", "x-amz-checksum-sha256": sha256 };
  return { url: `http://scripted/bucket/${id}/${number}`, headers };
}

export function problem(status: number, code: string, more: object = {}): Response {
  return Response.json({ code, detail: code, retryable: status === 503, ...more }, { status });
}
