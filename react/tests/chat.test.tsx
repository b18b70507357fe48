import { act, render } from "@testing-library/react";
import { TidingsError } from "@tidings/client";
import { expect, test } from "vitest";
import { userEvent } from "vitest/browser";
import { Chat, MessageContent, type MessageContentProps, TidingsProvider } from "../src/index.ts";
import { chatRow, FakeClient } from "./fake/fake_client.ts";
import { messageItem } from "./fake/fake_timeline.ts";
import { clientWithChat } from "./fixtures.ts";
import { announced, rested, row, settled, show, until } from "./render.tsx";

async function openChat(count = 20) {
  const fixture = clientWithChat(count);
  const view = show(fixture.client, <Chat chat="garden" />);
  await until(() => row(`#${count}`) !== null);
  await rested();
  return { ...fixture, ...view };
}

test("A failed message can be sent again or discarded", async () => {
  const { chat } = await openChat();
  const { key } = await act(async () => chat.send("Hello"));
  act(() => chat.timeline.change(key, { delivery: "failed" }));
  await until(() => row(key)?.querySelector(".td-failed") != null, "the buttons");
  expect(announced()).toBe("Not sent: Hello");
  const button = (index: number) => row(key)?.querySelectorAll<HTMLElement>(".td-failed button")[index];
  act(() => button(0)?.click());
  expect(chat.timeline.calls).toContain(`retry ${key}`);
  act(() => chat.timeline.change(key, { delivery: "failed" }));
  act(() => button(1)?.click());
  expect(chat.timeline.calls).toContain(`discard ${key}`);
});

test("A message that the client refuses stays in the composer", async () => {
  const { chat } = await openChat();
  chat.send = () => {
    throw new TidingsError({ code: "request_invalid", message: "Too long" });
  };
  const field = document.querySelector("textarea") as HTMLTextAreaElement;
  await userEvent.fill(field, "A very long text");
  await userEvent.keyboard("{Enter}");
  expect(field.value).toBe("A very long text");
  expect(document.querySelector(".td-composer")?.textContent).toContain("cannot be sent");
});

test("A draft survives another chat", async () => {
  const client = new FakeClient();
  client.chats.show(["a", "b"].map((chat) => chatRow({ chat, name: chat })));
  for (const id of ["a", "b"]) client.chat(id).timeline.open([]);
  const view = (chat: string) => (
    <TidingsProvider client={client.asClient}>
      <Chat chat={chat} />
    </TidingsProvider>
  );
  const field = () => document.querySelector("textarea") as HTMLTextAreaElement;
  const { rerender } = render(view("a"));
  await userEvent.fill(field(), "Half a sentence");
  rerender(view("b"));
  expect(field().value).toBe("");
  rerender(view("a"));
  expect(field().value).toBe("Half a sentence");
});

test("Typing is sent to the other members, and ends when the message is sent", async () => {
  const { chat } = await openChat();
  await userEvent.type(document.querySelector("textarea") as Element, "Hi{Enter}");
  const typing = chat.calls.filter(([name]) => name === "setTyping").map(([, isTyping]) => isTyping);
  expect(typing).toEqual([true, true, false]);
});

test("A message of another user is announced, with its author", async () => {
  const { chat } = await openChat();
  act(() =>
    chat.timeline.append(messageItem({ key: "new", by: "carla", text: "Dinner is ready", at: Date.now() })),
  );
  await until(() => announced() !== "", "an announcement");
  expect(announced()).toBe("carla: Dinner is ready");
});

test("Own messages and older messages are not announced", async () => {
  const { client, chat } = clientWithChat(200, 60);
  show(client, <Chat chat="garden" />);
  await until(() => row("#200") !== null);
  await act(async () => void chat.send("Mine"));
  await act(() => chat.timeline.loadOlder());
  await settled();
  expect(announced()).toBe("");
});

test("Messages of one author in one minute share a heading", async () => {
  const client = new FakeClient();
  client.chats.show([chatRow({ chat: "garden", name: "Garden" })]);
  const at = new Date(2026, 10, 16, 14, 5).getTime();
  const times = [at, at + 10_000, at + 70_000];
  client
    .chat("garden")
    .timeline.open([
      ...times.map((time, index) => messageItem({ key: `b${index}`, by: "ben", at: time })),
      messageItem({ key: "c", by: "carla", at: at + 75_000 }),
    ]);
  show(client, <Chat chat="garden" />);
  await until(() => row("c") !== null);
  const hasHeading = (key: string) => row(key)?.querySelector(".td-message-head") != null;
  expect(["b0", "b1", "b2", "c"].map(hasHeading)).toEqual([true, false, true, true]);
});

test("The connection state is visible in a narrow chat, and only if it lasts", async () => {
  const { client } = clientWithChat(5);
  show(client, <Chat chat="garden" />, { width: 390 });
  act(() => client.connection.set({ state: "waiting", waitMs: 2000 }));
  await settled();
  expect(document.querySelector(".td-banner")).toBeNull();
  await until(() => document.querySelector(".td-banner")?.checkVisibility() ?? false, "the banner");
  act(() => client.connection.set({ state: "live" }));
  await until(() => document.querySelector(".td-banner") === null, "the banner to disappear");
});

test("The connection state is visible while the client tries to connect again and again", async () => {
  const { client } = clientWithChat(5);
  show(client, <Chat chat="garden" />);
  const texts = new Set<string>();
  // Each attempt is shorter than the time after which the state is shown.
  for (let attempt = 0; attempt < 8; attempt += 1) {
    act(() => client.connection.set({ state: attempt % 2 ? "connecting" : "waiting" }));
    await new Promise((resolve) => setTimeout(resolve, 400));
    texts.add(document.querySelector(".td-banner")?.textContent ?? "");
  }
  expect([...texts]).toEqual(["", "You are offline. New messages are sent when the connection is back."]);
});

test("A chat that the user has left keeps its name", async () => {
  const { client } = clientWithChat(5);
  show(client, <Chat chat="garden" />);
  const title = () => document.querySelector(".td-chat-title")?.textContent;
  await until(() => title() === "Garden", "the name");
  act(() => client.chats.row("garden").set(undefined));
  await settled();
  expect(title()).toBe("Garden");
});

test("A part can be replaced", async () => {
  const { client, chat } = clientWithChat(5);
  chat.timeline.change("#5", { data: { picture: "data:image/png;base64,AA==" } });
  function PictureOrText(props: MessageContentProps) {
    const picture = props.item.data?.picture;
    return typeof picture === "string" ? <img src={picture} alt="A cat" /> : <MessageContent {...props} />;
  }
  show(client, <Chat chat="garden" components={{ MessageContent: PictureOrText }} />);
  await until(() => row("#5")?.querySelector("img[alt='A cat']") != null, "the picture");
  expect(row("#4")?.textContent).toContain("Some words");
});
