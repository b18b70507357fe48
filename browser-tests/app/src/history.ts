import type { Client } from "@tidings/client";

/** One thing that a browser device observed. The runner writes it to the history. */
export type Observation =
  | {
      type: "entry";
      chat: string;
      sequence: number;
      kind: string;
      by: string;
      text: string;
      users: string[];
      name: string;
    }
  | { type: "sent"; message: string; chat: string; outcome: "ok" | "failed" | "unknown"; sequence: number }
  | { type: "read"; operation: string; chat: string; sequence: number; outcome: "ok" | "unknown" }
  | { type: "state"; state: string };

declare global {
  interface Window {
    record(observations: Observation[]): Promise<void>;
    device: HistoryDevice;
  }
}

/** Entries are handed over in groups: a call into the runner per entry would slow the page down. */
const HAND_OVER_MS = 20;
const NOT_FINAL = new Set(["internal", "outcome_unknown"]);

export class HistoryDevice {
  readonly #client: Client;
  #waiting: Observation[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(client: Client) {
    this.#client = client;
    for (const event of ["message", "change", "chat"] as const) {
      client.on(event, ({ chat, entry }) => {
        const { sequence, kind, by, text = "", users = [], name = "" } = entry;
        this.#observe({ type: "entry", chat, sequence, kind, by, text, users: [...users], name: name ?? "" });
      });
    }
    client.on("connection", ({ state }) => this.#observe({ type: "state", state }));
  }

  /** Put a message into the outbox and observe its outcome. */
  send(chat: string, message: string, text: string): void {
    this.#client
      .chat(chat)
      .send(text)
      .outcome.then(
        ({ sequence }) => this.#observe({ type: "sent", message, chat, outcome: "ok", sequence }),
        ({ code }: { code?: string }) => {
          const outcome = code === undefined || NOT_FINAL.has(code) ? "unknown" : "failed";
          this.#observe({ type: "sent", message, chat, outcome, sequence: 0 });
        },
      );
  }

  read(chat: string, operation: string, sequence: number): void {
    this.#client
      .chat(chat)
      .read(sequence)
      .then(
        () => this.#observe({ type: "read", operation, chat, sequence, outcome: "ok" }),
        () => this.#observe({ type: "read", operation, chat, sequence, outcome: "unknown" }),
      );
  }

  /** The unread count and read position that this device shows. */
  row(chat: string): { unread: number; read: number } | undefined {
    const row = this.#client.chats.row(chat).get();
    return row && { unread: row.unread, read: row.read };
  }

  #observe(observation: Observation): void {
    this.#waiting.push(observation);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void window.record(this.#waiting.splice(0));
    }, HAND_OVER_MS);
  }
}

export function startHistory(client: Client): void {
  window.device = new HistoryDevice(client);
  client.start();
}
