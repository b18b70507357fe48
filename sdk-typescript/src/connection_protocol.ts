/**
 * One connection as a state machine without I/O. Inputs are frames, requests and time; outputs are effects.
 *
 * It handles frames and the heartbeat. `session` has the socket and the clock, and performs the effects. Each connection
 * is a new object.
 */

import {
  type Answer,
  decodeFrame,
  decodeStruct,
  encodeRequest,
  type Push,
  type RawAnswer,
  type RequestKind,
} from "./codec.ts";
import { partsOf } from "./collections.ts";
import {
  ANSWER_STRUCTS,
  type ErrorBody,
  PROTOCOL,
  type Requests,
  type Resume,
  type Resumed,
  type Welcome,
} from "./frames.gen.ts";

const CONNECT_TIMEOUT_MS = 10_000;
/** The grace period of the protocol after a heartbeat interval. */
const GRACE_MS = 10_000;
const MAX_POSITIONS = 1_000;
const PONG = encodeRequest("pong", {});

export type State = "connecting" | "authenticating" | "resuming" | "live" | "draining" | "closed";

export type Effect =
  | { readonly type: "write"; readonly data: string }
  | { readonly type: "answered"; readonly id: number; readonly answer: Answer<unknown> }
  | { readonly type: "pushed"; readonly push: Push }
  | { readonly type: "authenticated"; readonly welcome: Welcome }
  | { readonly type: "live" }
  /** `connect` was refused; the server closes next. */
  | { readonly type: "connectRefused"; readonly error: ErrorBody }
  | { readonly type: "reconnectRequested"; readonly retryAfterMs: number; readonly spreadMs: number }
  /** The server is silent, or does not speak the protocol: close the socket and reconnect. */
  | { readonly type: "abandon"; readonly reason: string };

export interface Hello {
  readonly credential: string;
  readonly device: string | undefined;
  readonly sdk: string;
  readonly epoch: number | undefined;
}

/** One connection. `positions` is called for each `connect` and `resume`, because positions change. */
export class ConnectionProtocol {
  state: State = "connecting";
  readonly #positions: () => Iterable<readonly [string, number]>;
  readonly #asked = new Map<number, RequestKind>();
  #lastId = 0;
  #parts: Resume[] = [];
  #deadline: number;
  #lastFrameAt: number;
  #silenceMs = Infinity;
  #epoch: number | undefined;

  constructor(positions: () => Iterable<readonly [string, number]>, now: number) {
    this.#positions = positions;
    this.#deadline = now + CONNECT_TIMEOUT_MS;
    this.#lastFrameAt = now;
  }

  get isLetIn(): boolean {
    return this.state === "resuming" || this.state === "live" || this.state === "draining";
  }

  get inFlight(): number {
    return this.#asked.size;
  }

  /** When to call `onTimer` if no frame arrives before. */
  get dueAt(): number {
    return Math.min(this.#deadline, this.#lastFrameAt + this.#silenceMs);
  }

  /** Send `connect` with the credential and the first part of the positions. */
  opened({ credential, device, sdk, epoch }: Hello): Effect[] {
    this.state = "authenticating";
    this.#epoch = epoch;
    const { positions, has_more } = this.#firstPart();
    return [
      this.ask("connect", {
        credential,
        protocol: PROTOCOL,
        device,
        sdk,
        epoch: positions && epoch,
        positions,
        has_more,
      })[1],
    ];
  }

  /** Encode a request. Ids are never reused, so a late answer cannot match another request. */
  ask<K extends RequestKind>(kind: K, body: Requests[K]): [id: number, write: Effect & { type: "write" }] {
    const id = ++this.#lastId;
    this.#asked.set(id, kind);
    return [id, { type: "write", data: encodeRequest(kind, body, id) }];
  }

  /** Ignore the answer of a request whose caller has stopped waiting. */
  dropRequest(id: number): void {
    this.#asked.delete(id);
  }

  received(data: unknown, now: number): Effect[] {
    if (this.state === "closed") return [];
    this.#lastFrameAt = now;
    try {
      const frame = decodeFrame(data);
      if (!frame) return [];
      return "id" in frame ? this.#answered(frame) : this.#pushed(frame);
    } catch (error) {
      return this.#abandon(`The server sent an invalid frame: ${error}`);
    }
  }

  /** Check the deadlines. May be called early and repeatedly. */
  onTimer(now: number): Effect[] {
    if (this.state === "closed" || now < this.dueAt) return [];
    if (now >= this.#deadline) return this.#abandon("The server did not answer `connect` in time.");
    return this.#abandon("The server sent nothing for the heartbeat interval and its grace period.");
  }

  lost(): void {
    this.state = "closed";
    this.#asked.clear();
    this.#deadline = this.#silenceMs = Infinity;
  }

  #answered(raw: RawAnswer): Effect[] {
    const kind = this.#asked.get(raw.id);
    if (kind === undefined) return [];
    this.#asked.delete(raw.id);
    const answer: Answer<unknown> =
      "ok" in raw
        ? { ok: decodeStruct(ANSWER_STRUCTS[kind] ?? "", raw.ok) }
        : { error: decodeStruct<ErrorBody>("ErrorBody", raw.error) };
    if (kind === "connect") return this.#welcomed(answer as Answer<Welcome>);
    return kind === "resume"
      ? this.#resumed(answer.ok as Resumed | undefined)
      : [{ type: "answered", id: raw.id, answer }];
  }

  #welcomed({ ok, error }: Answer<Welcome>): Effect[] {
    if (error) return [{ type: "connectRefused", error }];
    this.state = "resuming";
    this.#deadline = Infinity;
    this.#epoch = ok.epoch;
    this.#silenceMs = ok.heartbeat_s * 1000 + GRACE_MS;
    return [{ type: "authenticated", welcome: ok }];
  }

  /** Send the next part, or become live. If a resume fails, abandon the connection: entries would be missing. */
  #resumed(resumed: Resumed | undefined): Effect[] {
    if (!resumed) return this.#abandon("The server could not resume the connection.");
    const next = this.#parts.shift();
    if (next) return [this.ask("resume", next)[1]];
    if (this.state === "resuming") this.state = "live";
    return [{ type: "live" }];
  }

  #pushed(push: Push): Effect[] {
    switch (push.kind) {
      case "ping":
        return [{ type: "write", data: PONG }];
      case "resumed":
        return this.#resumed(push.body);
      case "resume":
        return [this.ask("resume", this.#firstPart())[1]];
      case "reconnect":
        if (this.isLetIn) this.state = "draining";
        return [
          {
            type: "reconnectRequested",
            retryAfterMs: push.body.retry_after_ms,
            spreadMs: push.body.spread_ms,
          },
        ];
      default:
        return [{ type: "pushed", push }];
    }
  }

  /** Return the first part of the positions, and keep the others. Each has at most 1,000. */
  #firstPart(): Resume {
    const epoch = this.#epoch;
    const parts = partsOf([...this.#positions()], MAX_POSITIONS);
    this.#parts = parts.map((part, index) => {
      const has_more = index + 1 < parts.length || undefined;
      return { positions: Object.fromEntries(part), epoch, has_more };
    });
    return this.#parts.shift() ?? { epoch };
  }

  #abandon(reason: string): Effect[] {
    this.lost();
    return [{ type: "abandon", reason }];
  }
}
