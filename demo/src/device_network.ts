/** The network of one device, which the page can take away. */

import type { Socket } from "@tidings/client";

const ABNORMAL = 1006;

export class DeviceNetwork {
  #isOnline = true;
  readonly #sockets = new Set<WebSocket>();

  /** Open a socket as `WebSocket` does. Without a network it closes at once. */
  readonly open = (url: string): Socket => {
    if (!this.#isOnline) return closedSocket();
    const socket = new WebSocket(url);
    this.#sockets.add(socket);
    socket.addEventListener("close", () => this.#sockets.delete(socket));
    return socket as Socket;
  };

  setOnline(isOnline: boolean): void {
    this.#isOnline = isOnline;
    if (isOnline) {
      // Clients try again at once when the browser reports a network.
      window.dispatchEvent(new Event("online"));
      return;
    }
    for (const socket of this.#sockets) {
      const onclose = socket.onclose;
      socket.onmessage = null;
      socket.onclose = null;
      socket.close();
      onclose?.call(socket, new CloseEvent("close", { code: ABNORMAL }));
    }
    this.#sockets.clear();
  }
}

function closedSocket(): Socket {
  const socket: Socket = {
    send: () => {},
    close: () => {},
    onopen: null,
    onmessage: null,
    onclose: null,
    onerror: null,
  };
  setTimeout(() => socket.onclose?.({ code: ABNORMAL, reason: "" }));
  return socket;
}
