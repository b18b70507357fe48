/** An operator exports a user and requests their erasure, and an owner approves it in the console. */

import type { Page } from "@playwright/test";
import { expect, expectUsable, giveReason, LOOKS, test } from "./console_fixtures.ts";
import { expectAccessible, keepPicture } from "./fixtures.ts";

const REASON = "Request 17: delete all my data";

/** Type the id and the reason. The button works only with both. */
async function confirm(page: Page, user: string, action: string): Promise<void> {
  const dialog = page.getByRole("dialog");
  const button = dialog.getByRole("button", { name: action });
  await dialog.getByLabel("Reason").fill(REASON);
  await dialog.getByLabel(`Type ${user} to confirm`).fill(user.slice(0, -1));
  await expect(button).toBeDisabled();
  await dialog.getByLabel(`Type ${user} to confirm`).fill(user);
  await expectAccessible(page);
  await keepPicture(page, "console-erase-dialog");
  await button.click();
}

test("an erasure waits for a second operator, and then runs through its steps", { tag: "@slow" }, async ({
  openAs,
  openConsole,
  createDirect,
  installation,
  server,
  unique,
}) => {
  test.setTimeout(240_000);
  const [anna, ben] = [unique("anna"), unique("ben")];
  await server.call("create_user", { body: { id: anna, display_name: "Anna" } });
  const chat = await createDirect(anna, ben);
  await server.call("send_message", { path: { chat }, user: anna, body: { text: "Delete all of it" } });
  const owner = await openAs("owner", "/t/dev");
  await owner.getByRole("button", { name: "Require a second approver" }).click();
  await giveReason(owner, "Turn on");
  await expect(owner.getByRole("button", { name: "Turn off the second approver" })).toBeVisible();
  try {
    const page = await openAs("operator", `/t/dev/users/${anna}`);
    await page.getByRole("button", { name: "Export data" }).click();
    await giveReason(page, "Export");
    await page.getByRole("button", { name: "Get the download link" }).click({ timeout: 60_000 });
    await giveReason(page, "Get the link");
    const link = page.getByRole("link", { name: `Download ${anna}.zip` });
    const archive = await page.request.get((await link.getAttribute("href")) ?? "");
    expect((await archive.body()).subarray(0, 2).toString()).toBe("PK");

    await page.getByRole("button", { name: "Erase user" }).click();
    await confirm(page, anna, "Erase the user");
    await expect(page.getByText("Nothing is erased yet.")).toBeVisible();
    await expect(page.getByRole("button", { name: "Approve" })).toHaveCount(0);
    await expectUsable(page);
    await page.getByRole("button", { name: "Withdraw" }).scrollIntoViewIfNeeded();
    await keepPicture(page, "console-erasure-waiting");

    await owner.getByRole("link", { name: "Data requests" }).click();
    const row = owner.getByRole("row").filter({ hasText: anna });
    await expect(row).toContainText("Waits for approval");
    await expectUsable(owner);
    await keepPicture(owner, "console-data-requests");
    await row.getByRole("link", { name: anna }).click();
    await owner.getByRole("button", { name: "Approve" }).click();
    await confirm(owner, anna, "Approve and erase");
    await expect(owner.getByText(/Step \d+ of 14/)).toBeVisible();
    await expect(owner.getByText(/Step 4 of 14: Wait until no process accepts/)).toBeVisible({
      timeout: 90_000,
    });
    await expect(owner.getByText("oidc:owner").first()).toBeVisible();
    await expectUsable(owner);
    await keepPicture(owner, "console-erasure");
    for (const [look, options] of Object.entries(LOOKS)) {
      const other = await openConsole(`/t/dev/users/${anna}`, options);
      await expect(other.getByText(/Step \d+ of 14/)).toBeVisible();
      await expectUsable(other);
      await keepPicture(other, `console-erasure-${look}`);
      await other.goto(new URL("/t/dev/data-requests", other.url()).href);
      await expect(other.getByText(anna)).toBeVisible();
      await expectUsable(other);
      await keepPicture(other, `console-data-requests-${look}`);
    }
  } finally {
    installation.tidings("tenant", "set", "dev", "--no-erasure-approval");
  }
});
