import { act } from "@testing-library/react";
import { expect, test } from "vitest";
import { userEvent } from "vitest/browser";
import { Chat } from "../src/index.ts";
import { chatRow } from "./fake/fake_client.ts";
import { messageItem } from "./fake/fake_timeline.ts";
import { clientWithChat, messages } from "./fixtures.ts";
import { distanceToBottom, frame, log, rested, row, settled, show, until } from "./render.tsx";

const COUNT = 100_000;

async function openAtBottom(count: number, shown = count) {
  const fixture = clientWithChat(count, shown);
  show(fixture.client, <Chat chat="garden" />);
  await until(() => row(`#${count}`) !== null && distanceToBottom() < 2, "the newest message");
  await rested();
  return fixture;
}

/** Return the keys of the messages in view, with their distance from the top of the log. */
function inView(): Map<string, number> {
  const top = log().getBoundingClientRect().top;
  const bottom = top + log().clientHeight;
  const found = new Map<string, number>();
  for (const element of log().querySelectorAll<HTMLElement>("[data-td-key]")) {
    const box = element.getBoundingClientRect();
    if (box.bottom > top && box.top < bottom) found.set(element.dataset.tdKey ?? "", box.top - top);
  }
  return found;
}

/** Return how far the messages moved that are in both views. */
function movement(before: Map<string, number>, after: Map<string, number>): number {
  const moves = [...before].flatMap(([key, top]) =>
    after.has(key) ? [Math.abs((after.get(key) ?? 0) - top)] : [],
  );
  if (moves.length === 0)
    throw new Error(`No message is in both views: ${[...before.keys()]} and ${[...after.keys()]}`);
  return Math.max(...moves);
}

test("A log of 100,000 messages opens at the end with few rows in the page", async () => {
  await openAtBottom(COUNT);
  expect(log().querySelectorAll("[data-td-key]").length).toBeLessThan(60);
  expect(distanceToBottom()).toBeLessThan(2);
});

test("A log of 100,000 messages scrolls to the top and back", async () => {
  await openAtBottom(COUNT);
  log().scrollTop = 0;
  await until(() => row("#1") !== null && inView().has("#1"), "the first message");
  await settled();
  expect(log().scrollTop).toBe(0);
  log().scrollTop = log().scrollHeight;
  await until(() => row(`#${COUNT}`) !== null && distanceToBottom() < 2, "the newest message");
});

test("Scrolling up by a page moves the messages by a page", async () => {
  await openAtBottom(COUNT);
  for (let page = 0; page < 20; page += 1) {
    const before = inView();
    log().scrollTop -= 300;
    await settled(4);
    const after = inView();
    const moves = [...before].flatMap(([key, top]) => (after.has(key) ? [(after.get(key) ?? 0) - top] : []));
    expect(moves.length).toBeGreaterThan(0);
    for (const move of moves) expect(Math.abs(move - 300)).toBeLessThan(3);
  }
});

test("Loading older messages keeps the reading position", async () => {
  const { chat } = await openAtBottom(1000, 50);
  chat.timeline.delayMs = 50;
  log().scrollTop = 500;
  await settled(2);
  const before = inView();
  await until(() => chat.timeline.keys.get().length > 50, "older messages");
  await settled();
  expect(movement(before, inView())).toBeLessThanOrEqual(1);
  expect(chat.timeline.calls).toContain("loadOlder");
});

test("Loading older messages keeps the position of the first row, which loses its heading", async () => {
  const { client, chat } = clientWithChat(0);
  const at = new Date(2026, 10, 16, 14, 5).getTime();
  chat.timeline.open(
    messages(400).map((item) => ({ ...item, by: "ben", at })),
    60,
  );
  const loadOlder = chat.timeline.loadOlder.bind(chat.timeline);
  chat.timeline.loadOlder = () => Promise.resolve();
  show(client, <Chat chat="garden" />);
  await until(() => row("#400") !== null && distanceToBottom() < 2, "the newest message");
  await rested();
  log().scrollTop = 0;
  await until(() => row("#341") !== null && log().scrollTop === 0, "the first loaded message");
  await settled();
  const top = () => row("#341")?.querySelector(".td-bubble")?.getBoundingClientRect().top ?? Number.NaN;
  const before = top();
  const height = row("#341")?.offsetHeight;
  await act(() => loadOlder());
  expect(chat.timeline.keys.get()).toHaveLength(110);
  expect(row("#341")?.offsetHeight).toBe(height);
  await rested();
  expect(Math.abs(top() - before)).toBeLessThanOrEqual(1);
});

test.each([12, 140])(
  "Scrolling up while pages load in %i ms moves no message in any frame",
  async (delayMs) => {
    const { client, chat } = clientWithChat(0);
    // One author in one minute: only the first loaded message has a heading, and loses it.
    const at = new Date(2026, 10, 16, 14, 5).getTime();
    chat.timeline.open(
      messages(500).map((item) => ({ ...item, by: "ben", at })),
      50,
    );
    chat.timeline.delayMs = delayMs;
    show(client, <Chat chat="garden" />);
    await until(() => row("#500") !== null && distanceToBottom() < 2, "the newest message");
    await rested();
    let worst = 0;
    while (chat.timeline.range.get().hasOlder || log().scrollTop > 0) {
      log().scrollTop = Math.max(0, log().scrollTop - log().clientHeight);
      await settled(1);
      const before = inView();
      for (let left = 3; left > 0; left -= chat.timeline.range.get().isLoading ? 0 : 1) {
        await settled(1);
        worst = Math.max(worst, movement(before, inView()));
      }
    }
    // The browser rounds the scroll position to pixels, and a page of messages moves it twice.
    expect(worst).toBeLessThanOrEqual(2);
  },
);

test("Older and newer messages that arrive together keep the reading position", async () => {
  const { chat } = await openAtBottom(1000, 200);
  log().scrollTop -= 1500;
  await settled();
  const before = inView();
  const keys = chat.timeline.keys.get();
  const older = messages(20, 780);
  const newer = messages(3, 1000);
  act(() => {
    for (const item of [...older, ...newer]) chat.timeline.item(item.key).set(item);
    chat.timeline.keys.set([...older.map(({ key }) => key), ...keys, ...newer.map(({ key }) => key)]);
  });
  await settled();
  expect(movement(before, inView())).toBeLessThanOrEqual(1);
});

test("A new message scrolls into view if the user is at the bottom", async () => {
  const { chat } = await openAtBottom(300);
  for (const item of messages(5, 300)) {
    act(() => chat.timeline.append(item));
    await settled();
    expect(distanceToBottom()).toBeLessThan(2);
    expect(inView().has(item.key)).toBe(true);
  }
});

test("Adding messages does not read the layout, and the log follows them in the next frames", async () => {
  const { chat } = await openAtBottom(300);
  let reads = 0;
  const height = Object.getOwnPropertyDescriptor(Element.prototype, "scrollHeight") as PropertyDescriptor;
  Object.defineProperty(log(), "scrollHeight", {
    get(this: Element) {
      reads += 1;
      return height.get?.call(this);
    },
  });
  await frame();
  reads = 0;
  for (const item of messages(5, 300)) act(() => chat.timeline.append(item));
  expect(reads).toBe(0);
  await frame();
  await frame();
  expect(reads).toBeGreaterThan(0);
  expect(distanceToBottom()).toBeLessThan(2);
});

test("A message that grows stays in view if the user is at the bottom", async () => {
  const { chat } = await openAtBottom(300);
  act(() => chat.timeline.change("#300", { text: "A line\n".repeat(12) }));
  await settled();
  expect(distanceToBottom()).toBeLessThan(2);
});

test("A new message does not move a user who reads older ones", async () => {
  const { chat } = await openAtBottom(300);
  log().scrollTop -= 2000;
  await settled();
  const before = inView();
  for (const item of messages(12, 300)) act(() => chat.timeline.append(item));
  await settled();
  expect(movement(before, inView())).toBeLessThanOrEqual(1);
  const button = document.querySelector<HTMLElement>(".td-jump");
  expect(button?.textContent).toBe("12 new messages");
  button?.click();
  await until(() => inView().has("#312") && distanceToBottom() < 2, "the newest message");
  await until(() => document.querySelector(".td-jump") === null, "the button to disappear");
});

test("A message that the user sends scrolls into view", async () => {
  await openAtBottom(300);
  log().scrollTop -= 2000;
  await settled();
  await userEvent.fill(document.querySelector("textarea") as Element, "My answer");
  await userEvent.keyboard("{Enter}");
  await until(() => [...inView().keys()].some((key) => key.startsWith("own-")), "the own message");
  expect(distanceToBottom()).toBeLessThan(2);
});

test("A commit keeps the row of the message", async () => {
  const { chat } = await openAtBottom(20);
  const { key } = await act(async () => chat.send("Hello"));
  await until(() => row(key) !== null);
  const element = row(key);
  act(() => chat.timeline.commit(key));
  await settled();
  expect(row(key)).toBe(element);
  expect(row(key)?.dataset.delivery).toBe("committed");
});

test("A chat with unread messages opens at the divider", async () => {
  const { client } = clientWithChat(300);
  client.chats.show([
    chatRow({ chat: "garden", name: "Garden", members: ["ben"], head: 300, read: 250, unread: 50 }),
  ]);
  show(client, <Chat chat="garden" />);
  await until(() => inView().has("#251"), "the first unread message");
  await settled();
  const divider = document.querySelector(".td-unread-divider");
  expect(divider?.parentElement?.contains(row("#251"))).toBe(true);
  expect(distanceToBottom()).toBeGreaterThan(500);
});

test("Only messages that were in view are marked as read", async () => {
  const { client, chat } = clientWithChat(300);
  client.chats.show([
    chatRow({ chat: "garden", name: "Garden", members: ["ben"], head: 300, read: 250, unread: 50 }),
  ]);
  show(client, <Chat chat="garden" />);
  await until(() => chat.calls.some(([name]) => name === "read"), "a read");
  const [, sequence] = chat.calls.find(([name]) => name === "read") ?? [];
  expect(sequence).toBeGreaterThan(250);
  expect(sequence).toBeLessThan(300);
  await until(() => {
    log().scrollTop = log().scrollHeight;
    return chat.calls.some(([name, up]) => name === "read" && up === 300);
  }, "the last read");
});

test("A reply jumps to a message that is not loaded", async () => {
  const { client, chat } = clientWithChat(2000, 50);
  chat.timeline.append(messageItem({ key: "answer", text: "See above", reply_to: 700, at: Date.now() }));
  show(client, <Chat chat="garden" />);
  await until(() => row("answer") !== null);
  await settled();
  row("answer")?.querySelector<HTMLElement>(".td-quote")?.click();
  await until(() => inView().has("#700"), "the original message");
  await until(() => row("#700")?.dataset.highlighted === "true", "the highlight");
  document.querySelector<HTMLElement>(".td-jump")?.click();
  await until(() => inView().has("answer") && distanceToBottom() < 2, "the newest message");
});

test("A failed load shows a button that tries again", async () => {
  const { chat } = await openAtBottom(500, 60);
  const { TidingsError } = await import("@tidings/client");
  chat.timeline.nextError = new TidingsError({ code: "request_timeout", message: "No answer" });
  log().scrollTop = 0;
  await until(() => document.querySelector(".td-older button") !== null, "the button");
  const calls = chat.timeline.calls.length;
  document.querySelector<HTMLElement>(".td-older button")?.click();
  await until(() => chat.timeline.keys.get().length > 60, "older messages");
  expect(chat.timeline.calls.length).toBeGreaterThan(calls);
});
