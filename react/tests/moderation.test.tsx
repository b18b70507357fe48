import { act } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";
import { userEvent } from "vitest/browser";
import { Chat, InviteList, SystemMessage } from "../src/index.ts";
import { messageItem } from "./fake/fake_timeline.ts";
import { clientWithChat } from "./fixtures.ts";
import { announced, rested, row, show, until } from "./render.tsx";

type Listener = (event: { chat: string; entry: { kind: string; by: string } }) => void;

/** A client with an address of the REST API, which answers with `chat`. */
async function openChat(chat: object = {}) {
  const fixture = clientWithChat(3);
  const state = {
    chat: { role: "member", is_frozen: false, slow_mode_seconds: 0, is_muted: false, ...chat },
  };
  const requests: [string, unknown][] = [];
  vi.stubGlobal("fetch", async (url: string, { method, body }: RequestInit) => {
    requests.push([`${method} ${new URL(url).pathname}`, body ? JSON.parse(String(body)) : undefined]);
    if (url.includes("/invites")) return Response.json({ invites: [{ chat: "g2", invited_by: "ben" }] });
    return method === "GET" ? Response.json(state.chat) : new Response(null, { status: 204 });
  });
  const listeners: Record<string, Listener> = {};
  Object.assign(fixture.client, {
    options: { api: "http://api.example", token: "t", user: "anna" },
    on: (event: string, listener: Listener) => {
      listeners[event] = listener;
      return () => {};
    },
  });
  const view = show(fixture.client, <Chat chat="garden" />);
  await until(() => row("#3") !== null);
  await rested();
  return { ...fixture, ...view, requests, state, listeners };
}

afterEach(() => vi.unstubAllGlobals());

const field = () => document.querySelector("textarea.td-composer-field") as HTMLTextAreaElement;
const composer = () => document.querySelector(".td-composer")?.textContent ?? "";

test("A message is reported with a reason and a text", async () => {
  const { requests } = await openChat();
  await userEvent.hover(row("#2") as HTMLElement);
  await until(() => row("#2")?.querySelector("[aria-label=Report]") != null, "the button");
  act(() => row("#2")?.querySelector<HTMLElement>("[aria-label=Report]")?.click());
  await until(() => document.querySelector("dialog[open]") !== null, "the dialog");
  const dialog = document.querySelector("dialog") as HTMLDialogElement;
  act(() => dialog.querySelector<HTMLElement>("input[value=abuse]")?.click());
  await userEvent.fill(dialog.querySelector("textarea") as HTMLTextAreaElement, "Insults");
  act(() => dialog.querySelector<HTMLElement>("button[type=submit]")?.click());
  await until(() => document.querySelector("dialog") === null, "the end");
  expect(requests.at(-1)).toEqual([
    "POST /v1/messages/garden.2/report",
    { reason: "abuse", text: "Insults" },
  ]);
  expect(announced()).toContain("moderators");
});

test("A muted user cannot write until the mute ends", async () => {
  const { state, listeners } = await openChat({ is_muted: true, muted_until: "2099-01-01T00:00:00.000Z" });
  await until(() => field().disabled, "the composer");
  expect(composer()).toContain("You are muted until");
  const buttons = () => document.querySelectorAll(".td-composer-line button").length;
  expect(buttons()).toBe(1);
  state.chat = { ...state.chat, is_muted: false };
  act(() => listeners.chat?.({ chat: "garden", entry: { kind: "mute", by: "carla" } }));
  await until(() => !field().disabled, "the end of the mute");
  expect(document.querySelector(".td-restricted")).toBeNull();
  expect(buttons()).toBe(3);
});

test("A frozen group says so, and an admin may write", async () => {
  await openChat({ is_frozen: true });
  await until(() => composer().includes("This group is frozen"), "the text");
  expect(field().disabled).toBe(true);
});

test("Slow mode counts down after an own message and keeps the draft", async () => {
  const { listeners, chat } = await openChat({ slow_mode_seconds: 2 });
  await until(() => listeners.message !== undefined, "the listener");
  act(() => listeners.message?.({ chat: "garden", entry: { kind: "message", by: "anna" } }));
  await until(() => /Slow mode: wait \d s/.test(composer()), "the text");
  await userEvent.fill(field(), "Next");
  await userEvent.keyboard("{Enter}");
  expect(chat.calls.filter(([name]) => name === "send")).toEqual([]);
  expect(field().value).toBe("Next");
  await until(() => document.querySelector(".td-restricted") === null, "the end of the wait");
});

test("An invite is accepted", async () => {
  const { client, requests, unmount } = await openChat();
  unmount();
  show(client, <InviteList />);
  await until(() => document.body.textContent?.includes("invites you") ?? false, "the invite");
  act(() => [...document.querySelectorAll("button")].find((each) => each.textContent === "Join")?.click());
  await until(() => document.querySelector(".td-invites") === null, "the answer");
  expect(requests.at(-1)?.[0]).toBe("POST /v1/invites/g2/accept");
});

test("Mutes, bans, new rules and lost entries are lines of the chat", () => {
  const textOf = (kind: string, by: string, entry: object) => {
    const item = messageItem({ key: kind, kind, by, entry: { users: ["carla"], ...entry } as never });
    const { container, unmount } = show(clientWithChat(1).client, <SystemMessage item={item} />);
    const text = container.textContent;
    unmount();
    return text;
  };
  expect(textOf("mute", "ben", { until: 5 })).toBe("ben muted carla");
  expect(textOf("mute", "anna", { until: 0 })).toBe("You unmuted carla");
  expect(textOf("leave", "ben", { role: "ban", until: 5 })).toBe("ben banned carla");
  expect(textOf("ban", "ben", { until: 5, users: ["anna"] })).toBe("ben banned you");
  expect(textOf("ban", "ben", { until: 0 })).toBe("ben lifted the ban of carla");
  expect(textOf("rules", "anna", { users: [] })).toBe("You changed the rules of the group");
  expect(textOf("lost", "/unknown", { users: [] })).toBe("A message or change was lost in an outage");
});
