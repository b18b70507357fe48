import { act } from "@testing-library/react";
import { TidingsError } from "@tidings/client";
import { expect, test, vi } from "vitest";
import { userEvent } from "vitest/browser";
import { urlOf } from "../src/inbox/notification_item.tsx";
import { Inbox } from "../src/index.ts";
import { FakeClient } from "./fake/fake_client.ts";
import { notification } from "./fake/fake_inbox.ts";
import { announced, settled, show, until } from "./render.tsx";

const timeout = new TidingsError({ code: "request_timeout", message: "No answer" });

function clientWithInbox(count: number) {
  const client = new FakeClient();
  const inbox = client.inbox();
  inbox.show(Array.from({ length: count }, (_, index) => notification({ id: `n${index}`, is_seen: true })));
  return { client, inbox };
}

const titles = () => [...document.querySelectorAll(".td-notification-title")].map((one) => one.textContent);
const badge = () => document.querySelector(".td-bell .td-badge")?.textContent;

test("The badge shows the unread count, and follows changes on other devices", async () => {
  const { client, inbox } = clientWithInbox(3);
  show(client, <Inbox />);
  await until(() => badge() === "3");
  await act(async () => void inbox.markRead(["n0"]));
  expect(badge()).toBe("2");
  expect(document.querySelector(".td-bell .td-hidden")?.textContent).toBe("Notifications, 2 unread");
  await act(async () => void inbox.markAllRead());
  expect(badge()).toBeUndefined();
});

test("A new notification appears at the top and is announced", async () => {
  const { client, inbox } = clientWithInbox(2);
  show(client, <Inbox variant="page" />);
  await until(() => titles().length === 2);
  act(() => inbox.add(notification({ id: "new" })));
  await until(() => titles()[0] === "Notification new");
  expect(announced()).toBe("1 new notification");
  await until(() => inbox.calls.some(([name]) => name === "markSeen"), "markSeen");
});

test("A digest tells how many others it stands for", async () => {
  const { client, inbox } = clientWithInbox(1);
  inbox.add(notification({ id: "likes", message: { title: "Anna likes your photo" }, digest_count: 5 }));
  show(client, <Inbox variant="page" />);
  await until(() => titles()[0] === "Anna likes your photo");
  expect(document.querySelector(".td-notification-body")?.textContent).toBe("and 4 others");
  expect(document.querySelectorAll(".td-notification-body")).toHaveLength(1);
});

test("Marking a notification as unread announces nothing", async () => {
  const { client, inbox } = clientWithInbox(2);
  show(client, <Inbox variant="page" />);
  await act(async () => void inbox.markRead(["n0"]));
  await act(async () => void inbox.markUnread(["n0"]));
  await settled();
  expect(announced()).toBe("");
});

test("Mark all as read leaves out what arrived after the counts", async () => {
  const { client, inbox } = clientWithInbox(2);
  show(client, <Inbox variant="page" />);
  await settled();
  const at = inbox.counts.get()?.at;
  await userEvent.click(document.querySelector(".td-inbox-header .td-link") as Element);
  expect(inbox.calls).toContainEqual(["markAllRead", { before: at }]);
});

test("Selecting a notification marks it as read and tells the app", async () => {
  const { client, inbox } = clientWithInbox(2);
  const onSelect = vi.fn();
  show(client, <Inbox variant="page" onSelect={onSelect} />);
  await until(() => titles().length === 2);
  await userEvent.click(document.querySelector(".td-notification-main") as Element);
  expect(inbox.calls).toContainEqual(["markRead", ["n0"]]);
  expect(onSelect).toHaveBeenCalledWith(expect.objectContaining({ id: "n0" }), expect.anything());
});

test("A refused action is shown and announced", async () => {
  const { client, inbox } = clientWithInbox(2);
  show(client, <Inbox variant="page" />);
  await until(() => titles().length === 2);
  inbox.nextError = timeout;
  await userEvent.click(document.querySelector("[aria-label='Archive'].td-icon-button") as Element);
  await until(() => document.querySelector(".td-banner") !== null, "the message");
  expect(announced()).toBe("That did not work. Try again.");
});

test("An inbox that cannot be loaded shows a button that tries again", async () => {
  const { client, inbox } = clientWithInbox(2);
  const feed = inbox.feed();
  feed.ids.set([]);
  feed.fail(timeout);
  show(client, <Inbox variant="page" />);
  await until(() => document.querySelector("[data-kind=error]") !== null);
  feed.isFrozen = false;
  await userEvent.click(document.querySelector("[data-kind=error] button") as Element);
  await until(() => titles().length === 2);
});

test("More notifications are loaded at the end of the list", async () => {
  const { client } = clientWithInbox(70);
  show(client, <Inbox variant="page" />);
  await until(() => titles().length > 0);
  const list = document.querySelector(".td-virtual-list") as HTMLElement;
  for (let step = 0; step < 20; step += 1) {
    list.scrollTop = list.scrollHeight;
    await settled();
  }
  expect(titles().at(-1)).toBe("Notification n69");
});

test("Only web addresses become links", () => {
  const url = (value: unknown) => urlOf({ message: { url: value } as never });
  expect(url("https://example.com/a")).toBe("https://example.com/a");
  expect(url("/orders/1")).toBe("/orders/1");
  expect(url("javascript:alert(1)")).toBeUndefined();
  expect(url("//evil.example")).toBeUndefined();
  expect(url("data:text/html,x")).toBeUndefined();
  expect(url(7)).toBeUndefined();
});
