/** The socket of a client in tests, whose other end is a scripted server in the same process. */
import type { Socket } from "../src/types.ts";
import type { Frame, ScriptedServer } from "./scripted_server.ts";

/** The client's end of a connection. Frames and closes arrive in order, each in its own task. */
export class ScriptedSocket implements Socket {
  onopen: Socket["onopen"] = null;
  onmessage: Socket["onmessage"] = null;
  onclose: Socket["onclose"] = null;
  onerror: Socket["onerror"] = null;
  readonly number: number;
  readonly #server: ScriptedServer;
  isOpen = false;
  #isClosed = false;

  constructor(server: ScriptedServer, number: number) {
    this.#server = server;
    this.number = number;
    later(() => {
      if (this.#isClosed) return;
      if (server.isDown) return this.shut(1006, "");
      this.isOpen = true;
      this.onopen?.(undefined as never);
    });
  }

  send(data: string): void {
    if (this.isOpen) later(() => this.isOpen && this.#server.received(this, JSON.parse(data)));
  }

  close(): void {
    this.#isClosed = true;
    this.isOpen = false;
    this.#server.onClosed(this);
  }

  push(frame: Frame): void {
    const data = JSON.stringify(frame);
    later(() => this.isOpen && this.onmessage?.({ data }));
  }

  shut(code: number, reason: string): void {
    this.isOpen = false;
    this.#server.onClosed(this);
    later(() => this.onclose?.({ code, reason }));
  }

  /** Close after the frames that are on their way. */
  shutLater(code: number, reason: string): void {
    later(() => this.shut(code, reason));
  }
}

function later(work: () => void): void {
  setImmediate(work);
}
