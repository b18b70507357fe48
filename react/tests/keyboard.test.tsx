import { act } from "@testing-library/react";
import { expect, test } from "vitest";
import { userEvent } from "vitest/browser";
import { Chat, Inbox } from "../src/index.ts";
import { ar } from "../src/locales/index.ts";
import { chatRow, FakeClient } from "./fake/fake_client.ts";
import { notification } from "./fake/fake_inbox.ts";
import { clientWithChat } from "./fixtures.ts";
import { announced, frame, log, row, settled, show, until } from "./render.tsx";

async function press(...keys: string[]): Promise<void> {
  for (const key of keys) {
    await userEvent.keyboard(key.length > 1 ? `{${key}}` : key);
    await frame();
    await frame();
  }
}

const focused = () => document.activeElement as HTMLElement;
/** The text of the focused control. The body, which has the focus if nothing else does, counts as nothing. */
const focusedText = () => (focused() === document.body ? "" : (focused().textContent ?? ""));
const focusedKey = () => focused().dataset.tdKey;

async function openChat(count = 100) {
  const fixture = clientWithChat(count);
  show(fixture.client, <Chat defaultChat="garden" />);
  await until(() => row(`#${count}`) !== null);
  await settled();
  return fixture;
}

test("The arrow keys move through the chats, and Enter opens one", async () => {
  const client = new FakeClient();
  client.chats.show(["a", "b", "c"].map((chat) => chatRow({ chat, name: `Chat ${chat}` })));
  for (const id of ["a", "b", "c"]) client.chat(id).timeline.open([]);
  show(client, <Chat />);
  await settled();
  await press("Tab");
  expect(focusedText()).toContain("Chat a");
  await press("ArrowDown", "ArrowDown");
  expect(focusedText()).toContain("Chat c");
  await press("Home", "ArrowDown", "Enter");
  await until(() => focused().tagName === "TEXTAREA", "the composer to have the focus");
  expect(document.querySelector(".td-chat-title")?.textContent).toBe("Chat b");
  expect(document.querySelectorAll(".td-chat-row[tabindex='0']")).toHaveLength(1);
});

test("A user walks to a message, replies and sends, without a mouse", async () => {
  const { chat } = await openChat();
  log().focus();
  await press("ArrowUp");
  expect(focusedKey()).toBe("#100");
  await press("ArrowUp", "ArrowUp");
  expect(focusedKey()).toBe("#98");
  await press("Enter");
  expect(focused().getAttribute("aria-label")).toBe("Add a reaction");
  await press("ArrowRight");
  expect(focused().getAttribute("aria-label")).toBe("Reply");
  await press("Enter");
  await until(() => focused().tagName === "TEXTAREA", "the composer to have the focus");
  expect(document.querySelector(".td-composer-quote")?.textContent).toContain("98.");
  await press("H", "i", "Enter");
  expect(chat.calls).toContainEqual(["send", "Hi", { reply_to: 98 }]);
});

test("Escape goes from an action to the message, and then to the composer", async () => {
  await openChat();
  log().focus();
  await press("ArrowUp", "Enter");
  expect(focused().tagName).toBe("BUTTON");
  await press("Escape");
  expect(focusedKey()).toBe("#100");
  await press("Escape");
  expect(focused().tagName).toBe("TEXTAREA");
});

test("A reaction is given with the keyboard, and the focus stays in the message", async () => {
  const { chat } = await openChat();
  log().focus();
  await press("ArrowUp", "Enter", "Enter");
  expect(focused().getAttribute("aria-label")).toBe("React with 👍");
  await press("ArrowRight", "Enter");
  expect(chat.calls).toContainEqual(["react", 100, "❤️", { is_removed: false }]);
  expect(focusedKey()).toBe("#100");
});

test("Deleting asks once more", async () => {
  const { chat } = await openChat();
  act(() => chat.timeline.change("#100", { isOwn: true, by: "anna" }));
  log().focus();
  await press("ArrowUp", "Enter", "ArrowLeft");
  expect(focused().getAttribute("aria-label")).toBe("Delete");
  await press("Enter");
  expect(chat.calls).not.toContainEqual(["redact", 100]);
  expect(announced()).toBe("Delete for everyone?");
  await press("Enter");
  expect(chat.calls).toContainEqual(["redact", 100]);
  expect(row("#100")?.textContent).toContain("This message was deleted");
  expect(focusedKey()).toBe("#100");
});

test("The actions of a message are one tab stop, which the arrow keys move", async () => {
  const { chat } = await openChat();
  act(() => chat.timeline.change("#100", { isOwn: true, by: "anna" }));
  const actions = () => [...document.querySelectorAll<HTMLElement>(".td-actions button")];
  log().focus();
  await press("ArrowUp", "Tab");
  expect(focused()).toBe(actions()[0]);
  await press("ArrowRight", "ArrowRight");
  expect(focused()).toBe(actions()[2]);
  expect(actions().map(({ tabIndex }) => tabIndex)).toEqual([-1, -1, 0, -1, -1]);
  await press("Tab");
  expect(focused().closest(".td-actions")).toBeNull();
});

test("The toolbar follows the direction of writing", async () => {
  const { client } = clientWithChat(10);
  show(client, <Chat defaultChat="garden" />, { locale: ar });
  await until(() => row("#10") !== null);
  await settled();
  log().focus();
  await press("ArrowUp", "Enter", "ArrowLeft");
  expect(focused().getAttribute("aria-label")).toBe("رد");
});

test("Arrow up in an empty composer edits the last own message, and Escape ends it", async () => {
  const { chat } = await openChat();
  act(() => chat.timeline.change("#99", { isOwn: true, by: "anna", text: "Mine" }));
  await userEvent.type(document.querySelector("textarea") as Element, "draft");
  await press("Backspace", "Backspace", "Backspace", "Backspace", "Backspace", "ArrowUp");
  expect(document.querySelector("textarea")?.value).toBe("Mine");
  await press("Escape");
  expect(document.querySelector("textarea")?.value).toBe("");
  await press("ArrowUp", "!", "Enter");
  expect(chat.calls).toContainEqual(["edit", 99, "Mine!", { mentions: [] }]);
});

test("Home reaches the first message although the focused one leaves the view", async () => {
  await openChat(2000);
  log().focus();
  await press("ArrowUp", "Home");
  await until(() => focusedKey() === "#1", "the first message to have the focus");
  await press("End");
  await until(() => focusedKey() === "#2000", "the last message to have the focus");
});

test("A narrow chat shows the list or the chat, and Back returns to the row", async () => {
  const client = new FakeClient();
  client.chats.show(["a", "b"].map((chat) => chatRow({ chat, name: `Chat ${chat}` })));
  client.chat("b").timeline.open([]);
  show(client, <Chat />, { width: 390 });
  await settled();
  const isVisible = (selector: string) => document.querySelector(selector)?.checkVisibility() ?? false;
  expect([isVisible(".td-side"), isVisible(".td-main")]).toEqual([true, false]);
  await press("Tab", "ArrowDown", "Enter");
  await settled();
  expect([isVisible(".td-side"), isVisible(".td-main")]).toEqual([false, true]);
  (document.querySelector(".td-back") as HTMLElement).focus();
  await press("Enter");
  await until(() => focusedText().includes("Chat b"), "the row to have the focus");
  expect([isVisible(".td-side"), isVisible(".td-main")]).toEqual([true, false]);
});

async function openInbox(count = 5) {
  const client = new FakeClient();
  const inbox = client.inbox();
  inbox.show(
    Array.from({ length: count }, (_, index) => notification({ id: `n${index}`, category: "news" })),
  );
  show(client, <Inbox categories={[{ id: "news", label: "News" }]} />);
  await settled();
  await press("Tab", "Enter");
  await until(() => document.querySelector("[role=dialog]") !== null, "the popover");
  await settled();
  return { client, inbox };
}

test("The inbox opens, and Escape returns to the bell", async () => {
  await openInbox();
  expect(focused().getAttribute("role")).toBe("dialog");
  await press("Tab");
  await press("Escape");
  expect(document.querySelector("[role=dialog]")).toBeNull();
  expect(focused().className).toContain("td-bell");
});

test("A user walks through the notifications and archives one, without a mouse", async () => {
  const { inbox } = await openInbox();
  await press("Tab", "Tab", "Tab", "Tab");
  expect(focusedText()).toContain("Notification n0");
  await press("ArrowDown");
  expect(focusedText()).toContain("Notification n1");
  await press("Tab", "Tab");
  expect(focused().getAttribute("aria-label")).toBe("Archive");
  await press("Enter");
  expect(inbox.calls).toContainEqual(["archive", ["n1"]]);
  await until(() => focusedText().includes("Notification n2"), "the next one to have the focus");
});

test("The arrow keys choose a filter", async () => {
  const { inbox } = await openInbox();
  await act(async () => void inbox.markRead(["n0", "n1"]));
  (document.querySelector("[role=tab][tabindex='0']") as HTMLElement).focus();
  await press("ArrowRight");
  expect(focusedText()).toContain("Unread");
  await settled();
  expect(document.querySelectorAll(".td-notification")).toHaveLength(3);
  await press("ArrowLeft", "ArrowLeft");
  expect(focusedText()).toContain("Archive");
});
