import { TidingsError } from "@tidings/client";
import axe from "axe-core";
import { expect, test } from "vitest";
import { userEvent } from "vitest/browser";
import { InboxPreferences } from "../src/index.ts";
import { FakeClient } from "./fake/fake_client.ts";
import { announced, settled, show, until } from "./render.tsx";

const CATEGORIES = [
  { id: "news", label: "News" },
  { id: "security", label: "Security" },
];
const timeout = new TidingsError({ code: "request_timeout", message: "No answer" });

const switches = () => [...document.querySelectorAll<HTMLInputElement>(".td-switch")];
const found = (name: string) => {
  const match = switches().find((each) => each.getAttribute("aria-label") === name);
  if (!match) throw new Error(`no switch ${name}`);
  return match;
};

async function opened() {
  const client = new FakeClient();
  show(client, <InboxPreferences categories={CATEGORIES} />);
  await until(() => switches().length === 9, "switches");
  return client.inbox();
}

test("A switch changes one channel of a category", async () => {
  const inbox = await opened();
  expect(found("News: E-mail").checked).toBe(false);
  await userEvent.click(found("News: E-mail"));
  await until(() => found("News: E-mail").checked);
  await settled();
  expect(inbox.calls).toEqual([["changePreferences", { categories: { news: { email: true } } }]]);
  expect(found("All notifications: E-mail").checked).toBe(false);
});

test("A switch for all notifications changes the categories without a choice, except critical ones", async () => {
  const inbox = await opened();
  await userEvent.click(found("All notifications: Push"));
  await settled();
  expect(inbox.calls).toEqual([["changePreferences", { channels: { push: false } }]]);
  expect(found("News: Push").checked).toBe(false);
  expect(found("Security: Push").checked).toBe(true);
});

test("The channels of a critical category cannot be changed", async () => {
  await opened();
  expect(found("Security: Push").disabled).toBe(true);
  expect(document.body.textContent).toContain("You cannot switch these off.");
});

test("A refused change is undone and announced", async () => {
  const inbox = await opened();
  inbox.nextError = timeout;
  await userEvent.click(found("News: Push"));
  await until(() => document.querySelector(".td-banner") !== null, "banner");
  expect(found("News: Push").checked).toBe(true);
  expect(announced()).toBe("That did not work. Try again.");
});

test("Two quick changes are both kept", async () => {
  await opened();
  // Both in one turn. Two clicks of a mouse at the same time would disturb each other.
  found("News: Push").click();
  found("News: In the app").click();
  await settled();
  expect([found("News: Push").checked, found("News: In the app").checked]).toEqual([false, false]);
});

test("The keyboard reaches every switch that can be changed, and Space changes it", async () => {
  await opened();
  const reached: (string | null)[] = [];
  for (let step = 0; step < 6; step += 1) {
    await userEvent.keyboard("{Tab}");
    reached.push(document.activeElement?.getAttribute("aria-label") ?? null);
  }
  expect(reached).toEqual([
    "All notifications: In the app",
    "All notifications: Push",
    "All notifications: E-mail",
    "News: In the app",
    "News: Push",
    "News: E-mail",
  ]);
  await userEvent.keyboard(" ");
  await until(() => found("News: E-mail").checked);
});

test("Preferences that could not be loaded can be requested again", async () => {
  const client = new FakeClient();
  client.inbox().nextError = timeout;
  show(client, <InboxPreferences />);
  await until(() => document.querySelector(".td-state .td-button") !== null, "retry");
  await userEvent.click(document.querySelector(".td-state .td-button") as Element);
  await until(() => switches().length === 9);
});

test("axe finds nothing", async () => {
  await opened();
  const { violations } = await axe.run(document, {
    rules: { "document-title": { enabled: false }, "page-has-heading-one": { enabled: false } },
  });
  expect(violations.map(({ id }) => id)).toEqual([]);
});
