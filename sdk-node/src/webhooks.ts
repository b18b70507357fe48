import { createHmac, timingSafeEqual } from "node:crypto";

/** An event as Tidings sends it. The same event has the same `id` in every attempt. */
export interface WebhookEvent {
  id: string;
  /** For example `message.created`. */
  type: string;
  /** When it happened, in UTC. */
  timestamp: string;
  data: Record<string, unknown>;
}

/** Headers of a request: of `fetch`, of Node or of a framework. */
export type WebhookHeaders = Headers | Record<string, string | string[] | undefined>;

/** Options of a `WebhookVerifier`. */
export interface WebhookVerifierOptions {
  /** How far the time of a request may differ from the clock of this machine. Default: 300. */
  toleranceS?: number;
  /** The current time in milliseconds, for tests. Default: `Date.now`. */
  now?: () => number;
}

/** The request is not from Tidings, was changed, or is too old. Answer 400 and do not use it. */
export class WebhookRejected extends Error {
  override name = "WebhookRejected";
}

const PREFIX = "whsec_";
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/**
 * Verify requests with the secrets of an endpoint. Pass two secrets while you rotate them.
 *
 * Signatures follow Standard Webhooks.
 */
export class WebhookVerifier {
  readonly #keys: Buffer[];
  readonly #toleranceS: number;
  readonly #now: () => number;

  /** Throws a `TypeError` if there is no secret, or if one is not `whsec_` and base64. */
  constructor(secrets: string | string[], options: WebhookVerifierOptions = {}) {
    this.#keys = (Array.isArray(secrets) ? secrets : [secrets]).map(decodeSecret);
    if (this.#keys.length === 0) {
      throw new TypeError("Pass at least one secret, as `tidings webhook create` printed it.");
    }
    this.#toleranceS = options.toleranceS ?? 300;
    this.#now = options.now ?? Date.now;
  }

  /**
   * Return the event. Throws `WebhookRejected`.
   *
   * `body` is the body as it was received: JSON that is parsed and encoded again has another signature.
   */
  verify(headers: WebhookHeaders, body: string | Uint8Array): WebhookEvent {
    const id = header(headers, "webhook-id");
    const at = header(headers, "webhook-timestamp");
    const signature = header(headers, "webhook-signature");
    this.#checkTime(at);
    const wanted = this.#keys.map((key) =>
      createHmac("sha256", key).update(`${id}.${at}.`).update(body).digest(),
    );
    const given = signatures(signature);
    if (
      !given.some((each) => wanted.some((want) => each.length === want.length && timingSafeEqual(each, want)))
    ) {
      throw new WebhookRejected("no signature is valid for this secret");
    }
    return parse(body);
  }

  #checkTime(text: string): void {
    if (!/^\d+$/.test(text)) throw new WebhookRejected("the timestamp is not a number");
    const ageS = Math.abs(this.#now() / 1000 - Number(text));
    if (ageS > this.#toleranceS) {
      throw new WebhookRejected(
        `the timestamp differs from the clock of this machine by ${Math.round(ageS)} s`,
      );
    }
  }
}

function decodeSecret(secret: string): Buffer {
  const text = secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret;
  if (text === "" || !BASE64.test(text)) {
    throw new TypeError(`A secret is "${PREFIX}" and base64, as \`tidings webhook create\` prints it.`);
  }
  return Buffer.from(text, "base64");
}

function header(headers: WebhookHeaders, name: string): string {
  const plain = headers instanceof Headers ? Object.fromEntries(headers) : headers;
  const key = Object.keys(plain).find((each) => each.toLowerCase() === name);
  const value = key === undefined ? undefined : plain[key];
  if (typeof value !== "string") throw new WebhookRejected(`the header ${name} is missing`);
  return value;
}

/** Return the signatures of a known version. Others, and malformed ones, are ignored. */
function signatures(text: string): Buffer[] {
  return text
    .split(" ")
    .filter((part) => part.startsWith("v1,") && BASE64.test(part.slice(3)))
    .map((part) => Buffer.from(part.slice(3), "base64"));
}

function parse(body: string | Uint8Array): WebhookEvent {
  let event: unknown;
  try {
    event = JSON.parse(typeof body === "string" ? body : Buffer.from(body).toString("utf8"));
  } catch {
    throw new WebhookRejected("the body is not JSON");
  }
  if (typeof event !== "object" || event === null || Array.isArray(event)) {
    throw new WebhookRejected("the body is not an event");
  }
  return event as WebhookEvent;
}
