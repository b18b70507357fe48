/** Pages and buttons of the console for each role. The matrix test of the API shows that every other request is refused. */

import type { Page } from "@playwright/test";
import { expect, expectUsable, giveReason, test } from "./console_fixtures.ts";

const LINKS = {
  viewer: ["Inboxes", "Segments", "Jobs", "Webhooks", "Tenant"],
  support: ["Users", "Moderation", "Data requests", "Inboxes", "Segments", "Jobs", "Webhooks", "Tenant"],
  operator: [
    "Users",
    "Moderation",
    "Data requests",
    "Inboxes",
    "Segments",
    "Jobs",
    "Webhooks",
    "Tenant",
    "Audit log",
  ],
};

async function expectInboxReadOnly(page: Page): Promise<void> {
  await expect(page.getByRole("button", { name: "Save" })).toBeDisabled();
  await expect(page.getByRole("heading", { name: "Send", exact: true })).toHaveCount(0);
}

test.describe("roles", () => {
  for (const [role, links] of Object.entries(LINKS))
    test(`the ${role} of one tenant sees the pages that the role may read`, {
      tag: role === "support" ? "@slow" : [],
    }, async ({ openAs }) => {
      const page = await openAs(role, "/t/dev");
      const navigation = page.getByRole("navigation", { name: "Console" });
      await expect(navigation.getByRole("link")).toHaveText(links);
      await expectUsable(page);
    });

  test("a viewer changes nothing", async ({ openAs }) => {
    const page = await openAs("viewer", "/t/dev/inboxes/default", "*");
    await expectInboxReadOnly(page);
    await page.getByRole("link", { name: "Segments" }).click();
    await expect(page.getByRole("heading", { name: "Segments" })).toBeVisible();
    await expect(page.getByRole("heading", { name: "Define a segment" })).toHaveCount(0);
    await page.getByRole("link", { name: "Gateways" }).click();
    await expect(page.getByRole("table", { name: "Gateways" }).getByRole("row").nth(1)).toBeVisible();
    await expect(page.getByRole("button", { name: "Drain" })).toHaveCount(0);
    await page.getByRole("link", { name: "Tenant", exact: true }).click();
    await expect(page.getByRole("heading", { name: "Tenant dev" })).toBeVisible();
    await expect(page.getByRole("heading", { name: "API keys" })).toHaveCount(0);
    await page.goto(new URL("/t/dev/users", page.url()).href);
    await page.getByRole("textbox").fill("anna");
    await page.getByRole("button", { name: "Find" }).click();
    await expect(page.getByRole("alert")).toContainText("role");
  });

  test("support reads content with a reason alone, and changes no inbox", async ({
    openAs,
    unique,
    server,
    createDirect,
  }) => {
    const [anna, ben] = [unique("anna"), unique("ben")];
    const chat = await createDirect(anna, ben);
    await server.call("send_message", { path: { chat }, user: anna, body: { text: "A private text" } });
    const page = await openAs("support", `/t/dev/chats/${chat}`);
    const read = page.getByRole("button", { name: "Read" }).last();
    await expect(read).toBeVisible();
    await expect(page.getByText("A private text")).toHaveCount(0);
    await read.click();
    await giveReason(page, "Read the content");
    await expect(page.getByText("A private text")).toBeVisible();
    await page.goto(new URL("/t/dev/inboxes/default", page.url()).href);
    await expectInboxReadOnly(page);
  });

  test("an operator of another tenant sees nothing of this one", async ({ openAs }) => {
    const page = await openAs("owner", "/t/dev", "another");
    await expect(page.getByRole("alert").first()).toContainText("no grant for this tenant");
    await expect(page.getByRole("navigation", { name: "Console" })).not.toContainText("Health");
  });
});
