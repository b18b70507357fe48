import { act } from "@testing-library/react";
import { StrictMode } from "react";
import { beforeEach, expect, test } from "vitest";
import { userEvent } from "vitest/browser";
import {
  Chat,
  ChatListItem,
  Message,
  MessageList,
  type MessageProps,
  TidingsProvider,
} from "../src/index.ts";
import { chatRow, FakeClient } from "./fake/fake_client.ts";
import { clientWithChat, messages } from "./fixtures.ts";
import { rested, row, settled, show, until } from "./render.tsx";

/** Keys of rows that were rendered again, and of all rows that were ever rendered. */
let renders: string[] = [];
let mounted = new Map<string, number>();

function CountedMessage(props: MessageProps) {
  const { key } = props.item;
  // The virtual list mounts rows near the view when it has time. These are not renders of rows that exist.
  if (mounted.has(key)) renders.push(key);
  mounted.set(key, (mounted.get(key) ?? 0) + 1);
  return <Message {...props} />;
}

const components = { Message: CountedMessage };

beforeEach(() => {
  renders = [];
  mounted = new Map();
});

test("An appended message renders one row", async () => {
  const { client, chat } = clientWithChat(200);
  show(client, <Chat chat="garden" components={components} />);
  await until(() => row("#200") !== null);
  await rested();
  renders = [];
  for (const item of messages(3, 200)) {
    act(() => chat.timeline.append(item));
    await settled();
  }
  expect(renders).toEqual([]);
  expect(["#201", "#202", "#203"].map((key) => mounted.get(key))).toEqual([1, 1, 1]);
});

test("An edit, a reaction and a commit render the row of their message", async () => {
  const { client, chat } = clientWithChat(200);
  show(client, <Chat chat="garden" components={components} />);
  await until(() => row("#200") !== null);
  await rested();
  renders = [];
  act(() => chat.timeline.change("#199", { state: "edited" }));
  act(() => chat.timeline.change("#198", { reactions: [{ emoji: "👍", count: 1, users: ["ben"] }] }));
  await settled();
  expect(renders).toEqual(["#199", "#198"]);
});

test("A new delivery status renders only the status", async () => {
  const { client, chat } = clientWithChat(50);
  chat.timeline.change("#50", { isOwn: true, by: "anna" });
  show(client, <Chat chat="garden" components={components} />);
  await until(() => row("#50")?.querySelector("[data-status=sent]") != null);
  await rested();
  renders = [];
  act(() => chat.status(50).set("read"));
  await until(() => row("#50")?.querySelector("[data-status=read]") != null);
  expect(renders).toEqual([]);
});

test("Typing in the composer renders no message", async () => {
  const { client } = clientWithChat(50);
  show(client, <Chat chat="garden" components={components} />);
  await until(() => row("#50") !== null);
  await rested();
  renders = [];
  await userEvent.type(document.querySelector("textarea") as Element, "Hello");
  await settled();
  expect(renders).toEqual([]);
});

test("A changed row of the chat list renders this row", async () => {
  const client = new FakeClient();
  const rows = ["a", "b", "c"].map((chat) => chatRow({ chat, name: chat }));
  client.chats.show(rows);
  const rendered: string[] = [];
  const Counted: typeof ChatListItem = (props) => {
    rendered.push(props.row.chat);
    return <ChatListItem {...props} />;
  };
  show(client, <Chat components={{ ChatListItem: Counted }} />);
  await settled();
  rendered.length = 0;
  act(() => client.chats.show(rows.map((one) => (one.chat === "b" ? { ...one, unread: 1 } : one))));
  await settled();
  expect(rendered).toEqual(["b"]);
});

test("StrictMode opens one connection and leaves no watcher behind", async () => {
  const { client, chat } = clientWithChat(5);
  const { unmount } = show(
    client,
    <StrictMode>
      <TidingsProvider client={client.asClient}>
        <MessageList chat="garden" />
      </TidingsProvider>
    </StrictMode>,
  );
  await until(() => row("#5") !== null);
  expect(client.connections).toBe(1);
  expect(chat.watchers).toBeGreaterThan(0);
  unmount();
  await settled();
  expect(chat.watchers).toBe(0);
  expect(client.presence.watched).toEqual([]);
});
