/** The upload of one file: its checksum, its parts, retries, pause and cancel. */
import { type Deferred, deferred } from "../deferred.ts";
import { asTidingsError, sdkError, TidingsError } from "../errors.ts";
import { Cell } from "../observable.ts";
import { type RestApi, retried } from "../rest.ts";
import type { Observable } from "../types.ts";
import { putBytes, type SignedRequest } from "./put_bytes.ts";
import { Sha256, sha256 } from "./sha256.ts";
import type { StoredUpload, UploadStore } from "./upload_store.ts";

/** Parts that are sent at the same time. Each needs its bytes in memory once, for the checksum. */
const PARALLEL = 3;
/** Between two pieces of this size, the page can react. */
const HASH_BYTES = 1024 * 1024;

/**
 * `preparing`: the checksum is computed. `failed`: no more retries; `resume` tries again. `uploaded`: a message can refer
 * to the file.
 */
export interface UploadProgress {
  readonly state: "preparing" | "uploading" | "paused" | "failed" | "uploaded" | "cancelled";
  readonly sentBytes: number;
  readonly error?: TidingsError | undefined;
}

/** Facts about a file from its sender. They are part of the message, so that apps can show them before they load it. */
export interface AttachmentInfo {
  readonly name: string;
  readonly size: number;
  readonly type: string;
  readonly width?: number | undefined;
  readonly height?: number | undefined;
  readonly duration_ms?: number | undefined;
  /** A text that describes an image for people who cannot see it. */
  readonly alt?: string | undefined;
}

export interface UploadOptions extends Partial<Omit<AttachmentInfo, "size">> {}

/** @internal */
export interface UploadDeps {
  readonly rest: RestApi;
  readonly store: UploadStore;
  /** Whether another upload of this client continues the stored one. */
  isActive(id: string): boolean;
}

/** The answer of the REST API, as far as it is used here. */
interface UploadAnswer {
  readonly id: string;
  readonly state: "pending" | "uploaded" | "attached" | "deleting";
  readonly size: number;
  readonly expires_at?: string;
  readonly put?: SignedRequest;
  readonly part_bytes?: number;
  readonly part_count?: number;
  readonly received?: readonly { readonly number: number; readonly size: number }[];
}

/** One file on its way. Get it with `attachments.upload(chat, file)`. */
export class Upload {
  readonly chat: string;
  readonly file: Blob;
  readonly #deps: UploadDeps;
  readonly #progress = new Cell<UploadProgress>({ state: "preparing", sentBytes: 0 });
  /** Bytes of each part so far. The whole file is part 0 if it is not divided. */
  readonly #sent = new Map<number, number>();
  #info: AttachmentInfo;
  #sha256: string | undefined;
  /** The stored upload that this one continues. */
  #claimed: string | undefined;
  #answer: UploadAnswer | undefined;
  #sums: Record<number, string> = {};
  #done: Deferred<string> = deferred();
  #running = new AbortController();

  /** @internal */
  constructor(deps: UploadDeps, chat: string, file: Blob, options: UploadOptions) {
    this.#deps = deps;
    this.chat = chat;
    this.file = file;
    const { name = (file as Partial<File>).name ?? "file", type = file.type } = options;
    this.#info = { ...options, name: shownName(name), size: file.size, type: mediaType(type) };
  }

  /** The id of the upload, once the server knows it. */
  get id(): string | undefined {
    return this.#answer?.id ?? this.#claimed;
  }

  get info(): AttachmentInfo {
    return this.#info;
  }

  get progress(): Observable<UploadProgress> {
    return this.#progress;
  }

  /** Resolves with the id when a message can refer to the file. Rejects if the upload fails or is cancelled. */
  get done(): Promise<string> {
    return this.#done.promise;
  }

  /** Change what the message says about the file, such as the text for people who cannot see it. */
  describe(changes: Partial<Pick<AttachmentInfo, "alt" | "width" | "height" | "duration_ms">>): void {
    this.#info = { ...this.#info, ...changes };
  }

  /** Stop sending. The bucket keeps the parts that it has. */
  pause(): void {
    const { state, sentBytes } = this.#progress.get();
    if (state !== "preparing" && state !== "uploading") return;
    this.#running.abort();
    this.#progress.set({ state: "paused", sentBytes });
  }

  /** Continue after a pause or a failure. Only missing parts are sent. */
  resume(): void {
    const { state } = this.#progress.get();
    if (state !== "paused" && state !== "failed") return;
    if (state === "failed") this.#done = deferred();
    this.start();
  }

  /** End the upload, and delete what the bucket has. */
  async cancel(): Promise<void> {
    if (this.#progress.get().state === "cancelled") return;
    this.#running.abort();
    this.#progress.set({ state: "cancelled", sentBytes: 0 });
    this.#done.reject(sdkError("upload_failed", "The upload was cancelled."));
    const { id } = this;
    if (id === undefined) return;
    await this.#deps.store.delete(id).catch(() => undefined);
    // An upload that stays is deleted by the server after a day.
    await retried(() => this.#deps.rest.call("DELETE", `/v1/uploads/${id}`)).catch(() => undefined);
  }

  /** @internal */
  start(): void {
    const running = new AbortController();
    this.#running = running;
    this.#report(this.#sha256 === undefined ? "preparing" : "uploading");
    this.#run(running.signal).then(
      (id) => {
        if (running.signal.aborted) return;
        this.#report("uploaded", this.file.size);
        this.#done.resolve(id);
      },
      (thrown: unknown) => {
        if (running.signal.aborted) return;
        // Requests of other parts end with the first failure.
        running.abort();
        const error = asTidingsError(thrown);
        this.#progress.set({ state: "failed", sentBytes: this.#progress.get().sentBytes, error });
        this.#done.reject(error);
      },
    );
  }

  async #run(signal: AbortSignal): Promise<string> {
    const answer = (await this.#continued(signal)) ?? (await this.#started(signal));
    this.#answer = answer;
    if (answer.state !== "pending") return answer.id;
    this.#report("uploading");
    if (answer.part_count) await this.#sendParts(answer, signal);
    else await this.#sendWhole(answer, signal);
    const parts = Object.entries(this.#sums).map(([number, sum]) => ({
      number: Number(number),
      sha256: sum,
    }));
    await this.#call("POST", `/v1/uploads/${answer.id}/complete`, { parts }, signal);
    return answer.id;
  }

  /** Return the state of an upload of the same file that was started before, if it can continue. */
  async #continued(signal: AbortSignal): Promise<UploadAnswer | undefined> {
    // Without its signed request, a file in one piece cannot continue.
    if (this.#answer?.put) return this.#answer;
    const stored = this.#answer ? undefined : await this.#stored();
    const id = this.#answer?.id ?? stored?.id;
    if (id === undefined) return undefined;
    try {
      const answer = await this.#call<UploadAnswer>("GET", `/v1/uploads/${id}`, undefined, signal);
      if (answer.state === "pending" || answer.state === "uploaded") {
        if (stored) this.#sums = { ...stored.sums };
        return answer;
      }
    } catch (error) {
      if (!(error instanceof TidingsError && error.code === "upload_not_found")) throw error;
    }
    this.#sums = {};
    this.#claimed = this.#answer = undefined;
    await this.#deps.store.delete(id).catch(() => undefined);
    return undefined;
  }

  async #stored(): Promise<StoredUpload | undefined> {
    const fingerprint = fingerprintOf(this.file, this.#info.name);
    if (fingerprint === undefined) return undefined;
    const uploads = await this.#deps.store.list().catch(() => []);
    const stored = uploads.find(
      (each) => each.chat === this.chat && each.fingerprint === fingerprint && !this.#deps.isActive(each.id),
    );
    // Race: the user chooses the same file twice. The second upload reads the store before the first has an answer.
    this.#claimed = stored?.id;
    return stored;
  }

  async #started(signal: AbortSignal): Promise<UploadAnswer> {
    this.#sha256 ??= await sumOf(this.file, signal);
    const { name, size, type } = this.#info;
    const body = { chat: this.chat, name, size, type, sha256: this.#sha256 };
    this.#answer = await this.#call<UploadAnswer>("POST", "/v1/uploads", body, signal);
    if (this.#answer.part_count) await this.#keep();
    return this.#answer;
  }

  async #sendWhole({ put }: UploadAnswer, signal: AbortSignal): Promise<void> {
    if (put) await retried(() => putBytes(put, this.file, (bytes) => this.#onSent(0, bytes), signal), signal);
  }

  async #sendParts(
    { id, part_bytes = 1, part_count = 0, received }: UploadAnswer,
    signal: AbortSignal,
  ): Promise<void> {
    const partOf = (number: number) => this.file.slice((number - 1) * part_bytes, number * part_bytes);
    const known = new Map(received?.map(({ number, size }) => [number, size]));
    const missing: number[] = [];
    this.#sent.clear();
    for (let number = 1; number <= part_count; number++) {
      const { size } = partOf(number);
      if (known.get(number) !== size) missing.push(number);
      else {
        this.#sent.set(number, size);
        // The page ended between the answer of the bucket and the write to the store.
        this.#sums[number] ??= await sha256(new Uint8Array(await partOf(number).arrayBuffer()));
      }
    }
    this.#onSent(0, 0);
    const sendNext = async () => {
      for (let next = missing.shift(); next !== undefined; next = missing.shift())
        await this.#sendPart(id, next, partOf(next), signal);
    };
    await Promise.all(Array.from({ length: PARALLEL }, sendNext));
  }

  /** Send one part, and store its checksum. Each try has its own signature, because signatures expire. */
  async #sendPart(id: string, number: number, part: Blob, signal: AbortSignal): Promise<void> {
    const sum = await sha256(new Uint8Array(await part.arrayBuffer()));
    await retried(async () => {
      const body = { parts: [{ number, sha256: sum }] };
      const { parts } = await this.#deps.rest.call<{ parts: SignedRequest[] }>(
        "POST",
        `/v1/uploads/${id}/parts`,
        body,
        signal,
      );
      await putBytes(parts[0] as SignedRequest, part, (bytes) => this.#onSent(number, bytes), signal);
    }, signal);
    this.#sums[number] = sum;
    this.#onSent(number, part.size);
    await this.#keep();
  }

  /** Store how far the upload is. Without a store, it continues within this page only. */
  async #keep(): Promise<void> {
    const fingerprint = fingerprintOf(this.file, this.#info.name);
    if (!this.#answer || fingerprint === undefined) return;
    const { id, size, expires_at = "" } = this.#answer;
    const stored = { id, chat: this.chat, name: this.#info.name, size, fingerprint, sums: { ...this.#sums } };
    await this.#deps.store.put({ ...stored, expiresAt: Date.parse(expires_at) }).catch(() => undefined);
  }

  #call<T>(method: string, path: string, body: object | undefined, signal: AbortSignal): Promise<T> {
    return retried(() => this.#deps.rest.call<T>(method, path, body, signal), signal);
  }

  #onSent(part: number, bytes: number): void {
    this.#sent.set(part, bytes);
    if (!this.#running.signal.aborted) this.#report("uploading");
  }

  #report(
    state: UploadProgress["state"],
    sentBytes = [...this.#sent.values()].reduce((a, b) => a + b, 0),
  ): void {
    this.#progress.set({ state, sentBytes: Math.min(sentBytes, this.file.size) });
  }
}

/** Return the SHA-256 of a file in base64, with one piece of it in memory at a time. */
async function sumOf(file: Blob, signal: AbortSignal): Promise<string> {
  const hash = new Sha256();
  for (let at = 0; at < file.size; at += HASH_BYTES) {
    signal.throwIfAborted();
    hash.update(new Uint8Array(await file.slice(at, at + HASH_BYTES).arrayBuffer()));
  }
  return hash.digest();
}

/** Return what recognises the same file after a reload. Blobs without a date, such as recordings, have none. */
function fingerprintOf(file: Blob, name: string): string | undefined {
  const { lastModified } = file as Partial<File>;
  return lastModified === undefined ? undefined : `${name} ${file.size} ${file.type} ${lastModified}`;
}

function mediaType(type: string): string {
  const [essence = ""] = type.toLowerCase().split(";");
  return /^[a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.+-]+$/.test(essence.trim())
    ? essence.trim()
    : "application/octet-stream";
}

function shownName(name: string): string {
  const shown = [...name.replace(/[\p{Cc}\p{Cf}\p{Cs}]/gu, "")];
  return shown.length > 255
    ? [...shown.slice(0, 235), ...shown.slice(-20)].join("")
    : shown.join("") || "file";
}
