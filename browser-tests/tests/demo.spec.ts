import { availableParallelism, loadavg } from "node:os";
import type { BrowserContextOptions } from "@playwright/test";
import { DemoPage } from "../stack/demo_page.ts";
import { test as base, expect, expectAccessible } from "./fixtures.ts";

const PICTURES = new URL("../../docs/pictures/", import.meta.url).pathname;
const ARRIVAL = { timeout: 60_000 };
/** The number of messages that a fault sends, and the text once all have arrived. */
const COMPLETE = /Nothing is lost: all 20 messages arrived once and in order/;

const test = base.extend<{ openDemo: (options?: BrowserContextOptions) => Promise<DemoPage> }>({
  openDemo: async ({ browser, installation }, use) => {
    const contexts: { close(): Promise<void> }[] = [];
    await use(async (options = {}) => {
      const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
      contexts.push(context);
      const demo = new DemoPage(await context.newPage());
      await demo.page.goto(installation.client.page);
      await demo.isConnected("anna", "ben");
      return demo;
    });
    for (const context of contexts) await context.close();
  },
});

test("the first message is on the other half within 30 seconds of the start", async ({
  openDemo,
  installation,
  unique,
}) => {
  test.skip(installation.readyS === undefined, "the installation ran before");
  const began = performance.now();
  const demo = await openDemo();
  const text = unique("First");
  await demo.write("anna", text);
  await expect(demo.message("ben", text)).toBeVisible();
  const pageS = (performance.now() - began) / 1000;
  // Other programs that share the cores must not fail the test.
  const load = Math.max(1, (loadavg()[0] ?? 0) / availableParallelism());
  console.log(
    `ready after ${installation.readyS?.toFixed(1)} s, message after ${pageS.toFixed(1)} s more, load ${load.toFixed(1)}`,
  );
  expect((installation.readyS ?? 0) + pageS).toBeLessThan(30 * load);
});

test("the demo shows a message, typing and a notification on the other half", async ({
  openDemo,
  unique,
}) => {
  const demo = await openDemo();
  const text = unique("Hello");
  await demo.part("anna", "composer").pressSequentially("Hel");
  await expect(demo.part("ben", "typing")).toContainText("Anna");
  await demo.write("anna", text);
  await expect(demo.message("ben", text)).toBeVisible();
  const before = Number(await demo.part("ben", "badge").textContent());
  await demo.button("Send a notification").click();
  await expect(demo.part("ben", "badge")).toHaveText(String(before + 1));
  await demo.part("ben", "bell").click();
  await expect(
    demo.part("ben", "notification").filter({ hasText: "Your table is booked" }).first(),
  ).toBeVisible();
});

test("the user of a half can be switched, and choosing the other user swaps the halves", async ({
  openDemo,
  unique,
}) => {
  const demo = await openDemo();
  await demo.half("ben").getByRole("combobox").selectOption("cleo");
  await demo.isConnected("anna", "cleo");
  const text = unique("For all");
  await demo.write("cleo", text);
  await expect(demo.message("anna", text)).toBeVisible();
  await demo.half("anna").getByRole("combobox").selectOption("cleo");
  await expect(demo.page.locator(".person").nth(0)).toHaveAttribute("data-user", "cleo");
  await expect(demo.page.locator(".person").nth(1)).toHaveAttribute("data-user", "anna");
});

test("a killed gateway loses nothing", async ({ openDemo }) => {
  const demo = await openDemo();
  await demo.button("Kill the gateway").click();
  await expect(demo.half("anna").locator(".connection")).toHaveText("Connecting");
  await expect(demo.page.getByRole("status").filter({ hasText: COMPLETE })).toBeVisible(ARRIVAL);
  await expect(demo.count("Sent")).toHaveText("20");
  await expect(demo.count("Arrived twice")).toHaveText("0");
});

test("messages wait while a person is offline, and arrive afterwards", async ({ openDemo }) => {
  const demo = await openDemo();
  await demo.button("Take Anna offline").click();
  await expect(demo.count("Waiting on the device")).toHaveText("10");
  await expect(demo.count("Acknowledged")).toHaveText("10");
  await expect(demo.count("Arrived at the other person")).toHaveText("0");
  await demo.button("Take Anna online").click();
  await expect(demo.page.getByRole("status").filter({ hasText: COMPLETE })).toBeVisible(ARRIVAL);
});

test("an empty Redis loses nothing", { tag: "@slow" }, async ({ openDemo }) => {
  const demo = await openDemo();
  await demo.button("Empty Redis").click();
  await expect(demo.page.getByRole("status").filter({ hasText: COMPLETE })).toBeVisible(ARRIVAL);
});

test("a stopped Kafka delays messages and loses nothing", { tag: "@slow" }, async ({ openDemo }) => {
  test.setTimeout(180_000);
  const demo = await openDemo();
  await demo.button("Stop Kafka").click();
  await expect(demo.page.getByText("Kafka stopped")).toBeVisible();
  await expect(demo.count("Acknowledged")).toHaveText("20", ARRIVAL);
  await demo.button("Start Kafka").click();
  const all = /Nothing is lost: all 40 messages/;
  await expect(demo.page.getByRole("status").filter({ hasText: all })).toBeVisible({ timeout: 120_000 });
});

test("the code to copy has the addresses of this installation", async ({ openDemo, installation }) => {
  const demo = await openDemo();
  await expect(demo.page.locator("pre")).toContainText(installation.client.gateway);
  await demo.button("Send with curl").click();
  await expect(demo.page.locator("pre")).toContainText(installation.client.api);
});

test("the page explains what to do without a valid token", async ({ page, installation }) => {
  await page.goto(new URL("/#wrong", installation.client.page).href);
  await expect(page.getByRole("alert")).toContainText("Open the address that `tidings dev` printed");
});

test("another page cannot reach the demo server", async ({ page, installation }) => {
  const { origin, hash } = new URL(installation.client.page);
  await page.goto(`${process.env.TIDINGS_WEB_PAGE}/#`);
  const outcome = await page.evaluate(
    ([url, token]) =>
      fetch(`${url}/demo/faults/kill-gateway`, {
        method: "POST",
        headers: { Authorization: `Bearer ${token}` },
      }).then(
        ({ status }) => `answered with ${status}`,
        () => "blocked",
      ),
    [origin, hash.slice(1)],
  );
  expect(outcome).toBe("blocked");
});

test("the processes of an installation do not serve the demo", async ({ request, installation }) => {
  const token = new URL(installation.client.page).hash.slice(1);
  const headers = { Authorization: `Bearer ${token}` };
  for (const path of ["/demo/session", "/demo/token?user=anna", "/demo/status"]) {
    const answer = await request.get(`${installation.client.api}${path}`, { headers });
    expect(answer.status(), path).toBe(404);
  }
});

const LOOKS: { name: string; options: BrowserContextOptions; picture?: string }[] = [
  { name: "light", options: {}, picture: "demo.png" },
  { name: "dark", options: { colorScheme: "dark" } },
  {
    name: "phone",
    options: { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
    picture: "demo-phone.png",
  },
];

for (const { name, options, picture } of LOOKS) {
  test(`the demo is accessible and fits the screen: ${name}`, {
    tag: name === "dark" ? "@slow" : [],
  }, async ({ openDemo }) => {
    const demo = await openDemo(options);
    await demo.button("Send 20 messages").click();
    await expect(demo.page.getByRole("status").filter({ hasText: COMPLETE })).toBeVisible(ARRIVAL);
    await expectAccessible(demo.page);
    const overflow = await demo.page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    expect(overflow).toBeLessThanOrEqual(0);
    if (!process.env.TIDINGS_WEB_PICTURES || !picture) return;
    await demo.page.evaluate(() => scrollTo(0, 0));
    await demo.page.screenshot({ path: `${PICTURES}${picture}`, animations: "disabled" });
  });
}
