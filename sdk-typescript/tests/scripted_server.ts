/**
 * A server with the real guarantees for the log, and a network that fails by a script, in process.
 *
 * It appends like the real one: if the key is in `(after, head]`, it returns that entry; otherwise it appends at head + 1.
 * So a client that changes a key or its `after` between tries creates a second message, as with the real server.
 */
import { ScriptedSocket } from "./scripted_socket.ts";

// biome-ignore lint: frames of a script are any JSON
export type Frame = Record<string, any>;

export { ScriptedSocket };

export const FAULTS = [
  "answer",
  "cut before", // the frame is lost with the connection
  "cut after", // the request takes effect, the answer is lost
  "done late", // the connection is lost, and the frame takes effect after the client's next one
  "close before",
  "close after",
  "twice", // two answers under one id
  "held", // the answer follows the next answer
  "unknown, done",
  "unknown, not done",
  "too fast",
  "catch up",
  "leave", // asks to reconnect, and answers
] as const;
export type Fault = (typeof FAULTS)[number];

const WRITES = ["send", "edit", "redact", "react"];
const INBOX = ["counts", "notifications", "mark"];

export function error(code: string, more: Frame = {}): Frame {
  return { error: { code, message: code, retryable: false, ...more } };
}

export interface ScriptedServerOptions {
  script?: readonly Fault[];
  window?: number;
  isPushing?: boolean;
  epoch?: number;
  user?: string;
  refusals?: Record<string, string>;
  answers?: Record<string, (body: Frame) => Frame>;
  refuseConnect?: [refusal: Frame | undefined, code: number, reason: string][];
  beforeResumed?: Frame[];
}

export class ScriptedServer {
  script: Fault[];
  window: number;
  isPushing: boolean;
  epoch: number;
  user: string;
  refusals: Record<string, string>;
  answers: Record<string, (body: Frame) => Frame>;
  refuseConnect: [refusal: Frame | undefined, code: number, reason: string][];
  beforeResumed: Frame[];
  isDown = false;
  logs = new Map<string, Frame[]>();
  seen: { connection: number; kind: string; body: Frame }[] = [];
  hellos: Frame[] = [];
  sockets = new Set<ScriptedSocket>();
  connections = 0;
  watch: (kind: string, body: Frame) => void = () => undefined;
  complaints: unknown[] = [];
  #late: [string, Frame][] = [];
  #held: [ScriptedSocket, Frame][] = [];

  constructor(options: ScriptedServerOptions = {}) {
    this.script = [...(options.script ?? [])];
    this.window = options.window ?? 10_000;
    this.isPushing = options.isPushing ?? false;
    this.epoch = options.epoch ?? 0;
    this.user = options.user ?? "anna";
    this.refusals = options.refusals ?? {};
    this.answers = options.answers ?? {};
    this.refuseConnect = options.refuseConnect ?? [];
    this.beforeResumed = options.beforeResumed ?? [];
  }

  readonly socket = (): ScriptedSocket => new ScriptedSocket(this, ++this.connections);

  log(chat: string): Frame[] {
    const log = this.logs.get(chat) ?? [];
    this.logs.set(chat, log);
    return log;
  }

  keys(chat: string): string[] {
    return this.log(chat).map((entry) => entry.client_message_id);
  }

  tries(kind = "send"): Frame[] {
    return this.seen.flatMap((one) => (one.kind === kind ? [one.body] : []));
  }

  /** Add an entry of another user. */
  add(chat: string, entry: Frame = {}): Frame {
    const log = this.log(chat);
    const by = entry.by ?? "ben";
    const made = { sequence: log.length + 1, by, at: 1, client_message_id: `${by}-${log.length}`, ...entry };
    log.push(made);
    return made;
  }

  push(frame: Frame): void {
    for (const socket of this.sockets) socket.push(frame);
  }

  pushEntry(chat: string, sequence: number): void {
    this.push({ entry: { ...this.readable(this.log(chat)[sequence - 1] ?? {}), chat } });
  }

  readable({ client_message_id, ...entry }: Frame): Frame {
    return entry.by === this.user ? { ...entry, client_message_id } : entry;
  }

  cut(): void {
    for (const socket of [...this.sockets]) socket.shut(1006, "");
  }

  closeAll(code: number, reason = ""): void {
    for (const socket of [...this.sockets]) socket.shut(code, reason);
  }

  onClosed(socket: ScriptedSocket): void {
    this.sockets.delete(socket);
  }

  received(socket: ScriptedSocket, frame: Frame): void {
    if (frame.connect) {
      this.#letIn(socket, frame);
      return;
    }
    const [kind, body] = Object.entries(frame).find(([name]) => name !== "id") as [string, Frame];
    this.seen.push({ connection: socket.number, kind, body });
    try {
      this.watch(kind, body);
    } catch (complaint) {
      this.complaints.push(complaint);
    }
    if (!("id" in frame)) return;
    const fault = this.script.shift() ?? "answer";
    const answer = this.#under(fault, socket, kind, body);
    for (const [lateKind, late] of this.#late.splice(0)) this.#done(lateKind, late);
    if (fault === "done late") this.#late.push([kind, body]);
    if (answer) this.#answer(fault, socket, { id: frame.id, ...answer });
  }

  #letIn(socket: ScriptedSocket, frame: Frame): void {
    this.hellos.push(frame.connect);
    const refusal = this.refuseConnect.shift();
    if (refusal) {
      if (refusal[0]) socket.push({ id: frame.id, ...refusal[0] });
      socket.shutLater(refusal[1], refusal[2]);
      return;
    }
    const limits = { frame_bytes: 65536, in_flight: 32, frames_per_s: 10_000, burst: 10_000 };
    const device = frame.connect.device ?? "d-1";
    for (const other of [...this.sockets])
      if (other !== socket && other.isOpen && this.isOneDevice) other.shut(4505, "replaced");
    socket.push({
      id: frame.id,
      ok: { protocol: 1, user: this.user, device, epoch: this.epoch, at: 1, heartbeat_s: 25, limits },
    });
    for (const each of this.beforeResumed) socket.push(each);
    this.#resume(socket, frame.connect.positions ?? {});
    socket.push({ resumed: { epoch: this.epoch } });
    this.sockets.add(socket);
  }

  /** Push the entries after the positions, and the rows and last entries of other chats. */
  #resume(socket: ScriptedSocket, positions: Record<string, number>): void {
    if (!this.isResuming) return;
    const rows = [...this.logs].flatMap(([chat, log]) =>
      chat in positions || !log.length ? [] : [{ chat, head: log.length }],
    );
    if (rows.length) socket.push({ chats: { rows } });
    const last = rows.map(({ chat, head }) => [chat, Math.max(0, head - 3)] as const);
    for (const [chat, position] of [...Object.entries(positions), ...last]) {
      const missed = this.log(chat)
        .slice(position)
        .map((entry) => this.readable(entry));
      if (missed.length)
        socket.push({ entries: { chat, after: position, up_to: this.log(chat).length, entries: missed } });
    }
  }

  /** Whether a second connection closes the first. */
  isOneDevice = false;
  /** Whether a connection receives the entries after its positions. */
  isResuming = false;

  /** Return the answer, or undefined if the script withholds it. */
  #under(fault: Fault, socket: ScriptedSocket, kind: string, body: Frame): Frame | undefined {
    switch (fault) {
      case "cut before":
      case "done late":
        socket.shut(1006, "");
        return undefined;
      case "close before":
        socket.shut(4005, "try_again_later retry_after_ms=1");
        return undefined;
      case "unknown, not done":
        return error("outcome_unknown", { retryable: true });
      case "too fast":
        return error("rate_limited", { retryable: true, retry_after_ms: 1 });
      case "catch up":
        if (WRITES.includes(kind)) return error("position_too_old");
    }
    const answer = this.#done(kind, body);
    if (this.isPushing && answer.ok && WRITES.includes(kind) && !answer.ok.is_repeat)
      this.pushEntry(body.chat, answer.ok.sequence);
    return this.#then(fault, socket, answer);
  }

  #then(fault: Fault, socket: ScriptedSocket, answer: Frame): Frame | undefined {
    if (fault === "cut after") socket.shut(1006, "");
    else if (fault === "close after") socket.shut(4002, "slow_consumer retry_after_ms=1");
    else if (fault === "unknown, done") return error("outcome_unknown", { retryable: true });
    else if (fault === "leave")
      socket.push({ reconnect: { retry_after_ms: 1, spread_ms: 1, reason: "draining" } });
    return fault === "cut after" || fault === "close after" ? undefined : answer;
  }

  #answer(fault: Fault, socket: ScriptedSocket, frame: Frame): void {
    if (fault === "held") {
      this.#held.push([socket, frame]);
      setTimeout(() => this.#sendHeld(), 20);
      return;
    }
    socket.push(frame);
    if (fault === "twice") socket.push(frame);
    this.#sendHeld();
  }

  #sendHeld(): void {
    for (const [socket, frame] of this.#held.splice(0)) socket.push(frame);
  }

  #done(kind: string, body: Frame): Frame {
    const scripted = this.answers[kind];
    if (scripted) return scripted(body);
    if (WRITES.includes(kind)) return this.#append(kind, body);
    if (INBOX.includes(kind)) return error("inbox_not_found");
    return kind === "history" ? this.#page(body) : { ok: {} };
  }

  /** Append an entry at head + 1, unless its key is in the log after `after`. */
  #append(kind: string, body: Frame): Frame {
    const log = this.log(body.chat);
    const after: number = body.after;
    if (after > log.length) return error("position_ahead");
    if (log.length - after > this.window) return error("position_too_old");
    const known = log
      .slice(after)
      .find((entry) => entry.by === this.user && entry.client_message_id === body.client_message_id);
    if (known) return { ok: { sequence: known.sequence, is_repeat: true } };
    const refusal = this.refusals[body.text ?? ""];
    if (refusal) return error(refusal);
    const sent =
      kind === "send"
        ? { text: body.text ?? "", ...(body.reply_to && { reply_to: body.reply_to }) }
        : this.#change(kind, body);
    const entry = {
      sequence: log.length + 1,
      by: this.user,
      at: 1,
      client_message_id: body.client_message_id,
      ...sent,
    };
    log.push(entry);
    return { ok: { sequence: entry.sequence } };
  }

  /** Apply an edit, redaction or reaction to its message. Return the fields of its entry. */
  #change(kind: string, { chat, sequence, text = "", emoji = "" }: Frame): Frame {
    const changes: Record<string, Frame> = {
      edit: { text, edited_at: 2 },
      redact: { text: "", state: "redacted" },
      react: { reactions: [{ emoji, count: 1 }] },
    };
    const found = this.log(chat).find((entry) => entry.sequence === sequence);
    Object.assign(found ?? {}, changes[kind]);
    const names = ["text", "state", "edited_at", "reactions"];
    const changed =
      found && Object.fromEntries(names.flatMap((name) => (name in found ? [[name, found[name]]] : [])));
    const kinds: Record<string, string> = { redact: "redaction", react: "reaction" };
    return { kind: kinds[kind] ?? kind, refers_to: sequence, ...(changed && { changed }) };
  }

  #page({ chat, before, after, around, limit = 50 }: Frame): Frame {
    const log = this.log(chat);
    const end = Math.min(
      (around !== undefined ? around + limit / 2 : (before ?? log.length + 1)) - 1,
      log.length,
    );
    const from: number = after ?? Math.max(0, end - limit);
    // Like the server: a page of history has no `changed`.
    const entries = log
      .slice(from, Math.min(after === undefined ? end : log.length, from + limit))
      .map(({ changed: _, ...entry }) => this.readable(entry));
    const upTo = from + entries.length;
    return {
      ok: {
        after: from,
        up_to: upTo,
        entries: entries.reverse(),
        has_newer: upTo < log.length,
        has_older: from > 0,
      },
    };
  }
}
