/**
 * Apply frames to this SDK and print its state after each step, for `sdk-python/tests/test_parity.py`.
 *
 * Reads one scenario per line from stdin, a list of steps, and writes one line with the list of states. Node runs it
 * without a build.
 */
import { createInterface } from "node:readline";
import { ClientCore } from "../../src/client_core.ts";
import { ClientState } from "../../src/client_state.ts";
import { decodeFrame, decodeStruct, type Push } from "../../src/codec.ts";
import { Credentials } from "../../src/credentials.ts";
import type { Entry, Welcome } from "../../src/frames.gen.ts";
import { Positions } from "../../src/positions.ts";
import { BatchedStore } from "../../src/stores/batched_store.ts";
import { MemoryStore } from "../../src/stores/memory.ts";
import type { Events } from "../../src/types.ts";

type Step = readonly [name: string, ...values: never[]];
type State = Record<string, unknown>;

const CHATS = ["g1", "g2"];
const MESSAGES = Array.from({ length: 12 }, (_, index) => index + 1);
const never = new Promise<never>(() => undefined);
const timeouts = { openMs: 1e6, answerMs: 1e6, backoffFirstMs: 1, backoffLongestMs: 1 };

/** A client without a connection: frames are given to it directly. */
class Device {
  readonly #state: ClientState = new ClientState({
    userName: () => this.#state.user.get() ?? "",
    request: () => never,
    storedMessages: () => never,
    put: () => ({ key: "", stored: never, outcome: never }),
    discard: () => undefined,
    watch: () => [],
    setTyping: () => undefined,
    setPresence: () => undefined,
  });
  readonly #core: ClientCore;
  #log: unknown[] = [];
  #others: string[] = [];

  constructor() {
    const store = new BatchedStore(new MemoryStore(), () => undefined);
    const stored = { outbox: [], positions: new Map(), chats: [], opened: [], settled: [] };
    const dial = { url: "", socket: () => never as never, timeouts };
    const options = { dial, credentials: new Credentials(""), user: "anna", device: undefined, maxOutbox: 1 };
    this.#core = new ClientCore(options, store, stored, {
      chats: this.#state.chats,
      emit: (event) => this.#state.apply(event),
      stopped: (error) => {
        throw error;
      },
    });
    this.#state.inbox("default");
    for (const kind of ["message", "change", "chat"] as const) {
      this.#state.on(kind, ({ chat, entry, origin }) => this.#log.push([kind, chat, entry.sequence, origin]));
    }
    this.#note("receipts", ({ chat }) => [chat]);
    this.#note("read", ({ chat, sequence }) => [chat, sequence]);
    this.#note("typing", ({ chat, users }) => [chat, users]);
    this.#note("restored", ({ epoch }) => [epoch]);
  }

  apply([name, ...values]: Step): void {
    const [first, second] = values as unknown[] as [string, number];
    if (name === "frame") this.#core.pushed(decodeFrame(JSON.stringify(first)) as Push);
    else if (name === "welcome") this.#core.welcomed({ user: "anna", device: "d", epoch: second } as Welcome);
    else if (name === "live") {
      this.#core.onLive();
      this.#core.stateChanged("live");
    } else if (name === "closed") this.#core.stateChanged("closed", 0, "");
    else if (name === "watch") this.#state.chat(first).watch();
    else if (name === "read") {
      void this.#state.chat(first).read(second);
      this.#state.apply({ type: "read", chat: first, sequence: second });
    } else throw new Error(`Unknown step ${name}`);
  }

  state(): State {
    const [log, others] = [this.#log, this.#others.sort()];
    this.#log = [];
    this.#others = [];
    return {
      log,
      others,
      rows: this.#state.chats.get(),
      positions: Object.fromEntries([...this.#core.positions()].sort()),
      typing: CHATS.map((chat) => this.#state.chat(chat).typing.get()),
      members: CHATS.map((chat) => this.#state.chat(chat).members.get()),
      statuses: CHATS.map((chat) => MESSAGES.map((sequence) => this.#state.chat(chat).receipts(sequence))),
      counts: this.#state.inbox("default").counts.get() ?? {},
    };
  }

  #note<K extends keyof Events>(kind: K, values: (event: Events[K]) => unknown[]): void {
    this.#state.on(kind, (event) => this.#others.push(JSON.stringify([kind, ...values(event)])));
  }
}

/** The positions alone, with the head that new messages start from. */
class PositionsModel {
  readonly #positions = new Positions([["g1", 0]]);
  #taken: number[] = [];

  apply([name, ...values]: Step): void {
    const [after, upTo] = values as unknown[] as [number, number];
    this.#taken = [];
    if (name === "take") this.#take(after, upTo);
    else if (name === "begin") this.#positions.begin("g1", after);
    else if (name === "committed") this.#positions.committed("g1", after);
    else if (name === "doubt") this.#positions.doubt("g1");
    else if (name === "abandon") this.#positions.abandonGap("g1");
    else if (name === "clear") this.#positions.clear();
    else throw new Error(`Unknown step ${name}`);
  }

  state(): State {
    return {
      taken: this.#taken,
      position: this.#positions.of("g1") ?? null,
      head: this.#positions.head("g1") ?? null,
      behind: this.#positions.behind(),
      reported: Object.fromEntries(this.#positions.reported()),
    };
  }

  #take(after: number, upTo: number): void {
    const sequences = Array.from({ length: upTo - after }, (_, index) => upTo - index);
    const entries = sequences.map((sequence) => decodeStruct<Entry>("Entry", { sequence, by: "ben", at: 1 }));
    this.#taken = this.#positions.take("g1", after, upTo, entries).map(({ sequence }) => sequence);
  }
}

const output: string[] = [];
for await (const line of createInterface({ input: process.stdin })) {
  const { model, steps } = JSON.parse(line) as { model: string; steps: Step[] };
  const subject = model === "positions" ? new PositionsModel() : new Device();
  const states = steps.map((step) => {
    subject.apply(step);
    return subject.state();
  });
  output.push(`${JSON.stringify(states)}\n`);
}
// Timers of the clients would keep the process running.
process.stdout.write(output.join(""), () => process.exit(0));
