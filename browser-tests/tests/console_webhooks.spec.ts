/** Webhook endpoints in the console: attempts, tests, and the state of an endpoint. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, expectUsable, giveReason, LOOKS, test } from "./console_fixtures.ts";
import { keepPicture } from "./fixtures.ts";

test("an operator tests an endpoint, sees its attempts, and disables it with a reason", async ({
  openConsole,
  server,
  unique,
}) => {
  test.setTimeout(150_000);
  const answers = { status: 503 };
  const receiver = createServer((_, response) => response.writeHead(answers.status).end());
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/${unique("events")}`;
  try {
    await server.call("create_webhook", {
      body: { url, description: "Order service", events: ["message.created", "user.updated"] },
    });
    const page = await openConsole("/t/dev/webhooks");
    await page.getByRole("link", { name: url }).click();
    const send = page.getByRole("button", { name: "Send a test event" });
    await send.click();
    await expect(page.getByRole("alert")).toContainText("the endpoint answered 503");
    answers.status = 204;
    await send.click();
    await expect(page.getByText(/The endpoint answered 204 in \d+ ms/)).toBeVisible();
    const attempts = page.getByRole("table", { name: "Attempts" });
    await expect(attempts.getByRole("row")).toHaveCount(3);
    await expect(page.getByText("Nothing waits for this endpoint.")).toBeVisible();
    answers.status = 503;
    // Processes use a new endpoint within ten seconds.
    await expect(async () => {
      await server.call("update_user", { path: { user: "anna" }, body: { display_name: "Anna" } });
      await page.reload();
      await expect(page.getByRole("table", { name: "Waiting events" })).toContainText("user.updated", {
        timeout: 4_000,
      });
    }).toPass({ timeout: 90_000 });
    await expectUsable(page);
    await keepPicture(page, "console-webhook");
    await page.getByRole("button", { name: "Disable" }).click();
    await giveReason(page, "Disable");
    await expect(page.getByRole("button", { name: "Enable" })).toBeVisible();
    await expect(page.getByText(/^Disabled/)).toBeVisible();
    const phone = await openConsole(new URL(page.url()).pathname, LOOKS.phone);
    await expect(phone.getByRole("table", { name: "Attempts" })).toBeVisible();
    await expectUsable(phone);
    await keepPicture(phone, "console-webhook-phone");
  } finally {
    receiver.close();
  }
});
