/** Upload files, send messages that refer to them, and get URLs to download them. */

import type { Chat } from "../chat.ts";
import { TidingsError } from "../errors.ts";
import type { JsonObject } from "../frames.gen.ts";
import type { LightClient } from "../light_client.ts";
import { RestApi, retried, wait } from "../rest.ts";
import type { QueuedSend, SendOptions, TimelineItem } from "../types.ts";
import { type AttachmentInfo, Upload, type UploadOptions } from "./upload.ts";
import {
  IndexedDbUploadStore,
  MemoryUploadStore,
  type StoredUpload,
  type UploadStore,
} from "./upload_store.ts";

/** A URL that expires soon is requested again. */
const MARGIN_MS = 30_000;
const MAX_LINKS = 500;
/** How often to ask again while the media worker processes a file: for a minute in total. */
const PROCESSING_MS = 500;
const MAX_PROCESSING = 120;

/**
 * Where to download a file of a message. `url` and `thumbnail_url` need no credential, and are valid until `expires_at`.
 *
 * `is_inline`: a browser can show the file; otherwise it saves it.
 */
export interface AttachmentLink extends AttachmentInfo {
  readonly id: string;
  readonly is_inline: boolean;
  readonly url: string;
  readonly thumbnail_url?: string | undefined;
  readonly expires_at: string;
  readonly blurhash?: string | undefined;
}

/** A file of a message, as its sender described it. */
export type Attachment = { readonly id: string } & Partial<AttachmentInfo>;

/**
 * The files of a client. Create one for each client that has the option `api`.
 *
 * @example
 * ```ts
 * const attachments = new Attachments(client);
 * const upload = attachments.upload("d1", file);
 * upload.progress.subscribe(() => show(upload.progress.get()));
 * await upload.done;
 * attachments.send(client.chat("d1"), "The plan", [upload]);
 * ```
 */
export class Attachments {
  readonly #rest: RestApi;
  readonly #store: UploadStore;
  readonly #active = new Set<Upload>();
  readonly #links = new Map<string, { link: Promise<AttachmentLink>; expiresMs: number }>();

  constructor(client: LightClient, store?: UploadStore) {
    const { user, url } = client.options;
    this.#rest = new RestApi(client.options);
    const isPersistent = typeof indexedDB !== "undefined" && client.options.store !== "memory";
    this.#store =
      store ?? (isPersistent ? new IndexedDbUploadStore(`${user} ${url}`) : new MemoryUploadStore());
  }

  /**
   * Upload a file for a message in a chat. It is sent directly to the bucket, and continues where an earlier page ended if
   * the user chooses the same file again.
   */
  upload(chat: string, file: Blob, options: UploadOptions = {}): Upload {
    const isActive = (id: string) => [...this.#active].some((each) => each.id === id);
    const upload = new Upload({ rest: this.#rest, store: this.#store, isActive }, chat, file, options);
    this.#active.add(upload);
    upload.start();
    return upload;
  }

  /** Return uploads of earlier pages that can continue, if the user chooses the same file again. */
  async unfinished(chat: string): Promise<readonly StoredUpload[]> {
    const uploads = await this.#store.list().catch(() => []);
    const active = new Set([...this.#active].map(({ id }) => id));
    const expired = uploads.filter(({ expiresAt }) => expiresAt < Date.now());
    for (const { id } of expired) void this.#store.delete(id).catch(() => undefined);
    return uploads.filter((each) => each.chat === chat && !active.has(each.id) && !expired.includes(each));
  }

  /** Forget an upload of an earlier page, and delete what the bucket has of it. */
  async discard(id: string): Promise<void> {
    await this.#store.delete(id).catch(() => undefined);
    await retried(() => this.#rest.call("DELETE", `/v1/uploads/${id}`)).catch(() => undefined);
  }

  /** Put a message with files into the outbox. Throws `request_invalid` if an upload is not complete. */
  send(chat: Chat, text: string, uploads: readonly Upload[], options: SendOptions = {}): QueuedSend {
    const described = Object.fromEntries(uploads.map(({ id = "", info }) => [id, withoutEmpty(info)]));
    const queued = chat.send(text, {
      ...options,
      attachments: uploads.map(({ id = "" }) => id),
      data: { ...options.data, attachments: described } as JsonObject,
    });
    for (const upload of uploads) {
      this.#active.delete(upload);
      if (upload.id) void this.#store.delete(upload.id).catch(() => undefined);
    }
    return queued;
  }

  /** Forget a cancelled upload. */
  async cancel(upload: Upload): Promise<void> {
    await upload.cancel();
    this.#active.delete(upload);
  }

  /**
   * Return where to download a file of a message. Links are reused until shortly before they expire.
   *
   * Waits up to a minute while the media worker processes the file. Rejects with `upload_not_found` if the message was
   * redacted, and with `upload_refused` if the worker refused the file.
   */
  link(chat: string, sequence: number, id: string): Promise<AttachmentLink> {
    const key = `${chat}.${sequence}/attachments/${id}`;
    const known = this.#links.get(key);
    if (known && known.expiresMs - MARGIN_MS > Date.now()) return known.link;
    const entry = { link: this.#requestLink(key), expiresMs: Infinity };
    this.#prune();
    this.#links.set(key, entry);
    entry.link.then(
      ({ expires_at }) => {
        entry.expiresMs = Date.parse(expires_at);
      },
      () => {
        if (this.#links.get(key) === entry) this.#links.delete(key);
      },
    );
    return entry.link;
  }

  async #requestLink(path: string): Promise<AttachmentLink> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#rest.call<AttachmentLink>("GET", `/v1/messages/${path}`);
      } catch (error) {
        const isWaiting =
          error instanceof TidingsError && (error.code === "upload_processing" || error.retryable);
        if (!isWaiting || tries === MAX_PROCESSING) throw error;
        await wait(error.body?.retry_after_ms ?? PROCESSING_MS);
      }
    }
  }

  #prune(): void {
    for (const key of this.#links.keys()) {
      if (this.#links.size < MAX_LINKS) return;
      this.#links.delete(key);
    }
  }
}

/** Return the files of a message, with what its sender says about them. Apps must not trust it beyond showing it. */
export function attachmentsOf({
  attachments,
  data,
}: Pick<TimelineItem, "attachments" | "data">): Attachment[] {
  const described = asObject(data?.attachments);
  return attachments.map((id) => ({ ...knownFields(asObject(described[id])), id }));
}

const TEXTS = ["name", "type", "alt"] as const;
const NUMBERS = ["size", "width", "height", "duration_ms"] as const;

/** The sender's client may be any program, so fields of other types are dropped. */
function knownFields(info: JsonObject): Partial<AttachmentInfo> {
  const isText = (name: string) => typeof info[name] === "string";
  const isNumber = (name: string) => Number.isFinite(info[name]) && (info[name] as number) > 0;
  const kept = [...TEXTS.filter(isText), ...NUMBERS.filter(isNumber)];
  return Object.fromEntries(kept.map((name) => [name, info[name]]));
}

function asObject(value: unknown): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
}

function withoutEmpty(info: AttachmentInfo): object {
  return Object.fromEntries(Object.entries(info).filter(([, value]) => value !== undefined && value !== ""));
}
