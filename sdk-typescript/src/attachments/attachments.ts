/** Upload files, send messages that refer to them, and get URLs to download them. */

import type { Chat } from "../chat.ts";
import { TidingsError } from "../errors.ts";
import type { JsonObject } from "../frames.gen.ts";
import type { LightClient } from "../light_client.ts";
import { RestApi, retried, wait } from "../rest.ts";
import type { QueuedSend, SendOptions } from "../types.ts";
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
/** How often to ask again while the media worker fetches a page, and when to ask again whether the tenant has previews. */
const LOADING_MS = 1_000;
const MAX_LOADING = 10;
const OFF_MS = 600_000;

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

/** Title, description and picture of the page of a link. `image`: a small picture, as a `data:` URL. */
export interface LinkPreview {
  readonly url: string;
  readonly title: string;
  readonly description?: string | undefined;
  readonly image?: string | undefined;
}

type LinkAnswer = { readonly state: "ready" | "loading" | "none" | "off" } & Partial<LinkPreview>;

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
  #previewsOffUntil = 0;

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

  /**
   * Return what the page of a message's first link says about itself, or `undefined` if there is nothing to show.
   *
   * Waits while the media worker fetches the page. Tenants that do not allow previews of links have none.
   */
  async linkPreview(chat: string, sequence: number): Promise<LinkPreview | undefined> {
    for (let tries = 0; tries < MAX_LOADING; tries++) {
      if (this.#previewsOffUntil > Date.now()) return undefined;
      const path = `/v1/messages/${chat}.${sequence}/link-preview`;
      const { state, url, title, ...more } = await this.#rest.call<LinkAnswer>("GET", path);
      if (state === "off") this.#previewsOffUntil = Date.now() + OFF_MS;
      if (state === "ready" && url && title) return { url, title, ...more };
      if (state !== "loading") return undefined;
      await wait(LOADING_MS);
    }
    return undefined;
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

function withoutEmpty(info: AttachmentInfo): object {
  return Object.fromEntries(Object.entries(info).filter(([, value]) => value !== undefined && value !== ""));
}
