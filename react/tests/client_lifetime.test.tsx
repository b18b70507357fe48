import { render } from "@testing-library/react";
import type { Socket } from "@tidings/client";
import { StrictMode } from "react";
import { expect, test } from "vitest";
import { keepOpen } from "../src/client_lifetime.ts";
import { TidingsProvider, useConnection } from "../src/index.ts";
import { FakeClient } from "./fake/fake_client.ts";
import { settled, until } from "./render.tsx";

test("A client stays open while somebody uses it", async () => {
  const client = new FakeClient();
  const releaseFirst = keepOpen(client.asClient);
  const releaseSecond = keepOpen(client.asClient);
  releaseFirst();
  releaseFirst();
  await settled();
  expect(client.isOpen).toBe(true);
  releaseSecond();
  await until(() => !client.isOpen, "the client to close");
  expect(client.connections).toBe(1);
});

test("Releasing and using a client again in one task does not close it", async () => {
  const client = new FakeClient();
  keepOpen(client.asClient)();
  const release = keepOpen(client.asClient);
  await settled();
  expect(client).toMatchObject({ isOpen: true, connections: 1 });
  release();
  await until(() => !client.isOpen, "the client to close");
  keepOpen(client.asClient);
  expect(client).toMatchObject({ isOpen: true, connections: 2 });
});

function silentSocket(): Socket {
  return { send() {}, close() {}, onopen: null, onmessage: null, onclose: null, onerror: null };
}

test("A provider with a URL opens one socket in StrictMode", async () => {
  const urls: string[] = [];
  const socket = (url: string) => {
    urls.push(url);
    return silentSocket();
  };
  function State() {
    return <output>{useConnection().state}</output>;
  }
  const { unmount, container } = render(
    <StrictMode>
      <TidingsProvider
        url="ws://localhost/v1/socket"
        token="token"
        user="anna"
        store="memory"
        tabs={false}
        socket={socket}
      >
        <State />
      </TidingsProvider>
    </StrictMode>,
  );
  await until(() => urls.length > 0, "a socket");
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(urls).toHaveLength(1);
  expect(container.querySelector("output")?.textContent).toBe("connecting");
  unmount();
});
