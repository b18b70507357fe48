import { expectUsable, giveReason, LOOKS, REASON, tagOf, test } from "./console_fixtures.ts";
import { expect, keepPicture } from "./fixtures.ts";

/** The console polls processes every 15 seconds, and so does the page. */
const POLLED_MS = 40_000;
const PICTURES = ["segments", "gateways", "dead-letters"];

test.describe("notifications", () => {
  test("a schema is edited with a preview, and the inbox refuses messages that it does not allow", async ({
    openConsole,
    unique,
    server,
  }) => {
    const inbox = unique("orders");
    await server.call("set_inbox", { path: { inbox }, body: { title: "Orders" } });
    const page = await openConsole("/t/dev/inboxes");
    await page.getByRole("link", { name: inbox }).click();
    const schema = page.getByLabel("Schema of messages");
    await schema.fill("[]");
    await expect(page.getByText("This is JSON, but not an object.")).toBeVisible();
    await schema.fill('{"type": "object", "required": ["order"]}');
    await page.getByLabel("A message to check").fill('{"title": "Shipped"}');
    await page.getByRole("button", { name: "Check the message" }).click();
    await expect(page.getByRole("alert")).toContainText("not valid");
    await page.getByLabel("A message to check").fill('{"order": 7}');
    await page.getByRole("button", { name: "Check the message" }).click();
    await expect(page.getByText("The message is valid.")).toBeVisible();
    await expectUsable(page);
    await page.getByRole("button", { name: "Save" }).click();
    await page.reload();
    await expect(schema).toHaveValue(/order/);
    await page.getByLabel("Ids of the users").fill("anna");
    await page.getByRole("textbox", { name: "Message", exact: true }).fill('{"title": "no order"}');
    await page.getByRole("button", { name: "Dry run" }).click();
    await expect(page.getByRole("alert")).toBeVisible();
    await expect(page.getByRole("button", { name: "Send", exact: true })).toBeDisabled();
  });

  test("a notification is sent after a dry run and recalled, with the proof for each user", async ({
    openConsole,
    unique,
    server,
  }) => {
    const [anna, ben] = [unique("anna"), unique("ben")];
    for (const id of [anna, ben]) await server.call("create_user", { body: { id } });
    const page = await openConsole("/t/dev/inboxes/default");
    await page.getByLabel("Ids of the users").fill(`${anna}, ${ben}`);
    await page.getByRole("textbox", { name: "Message", exact: true }).fill('{"title": "A mistake"}');
    await page.getByRole("button", { name: "Dry run" }).click();
    await expect(page.getByText("It reaches 2 users.")).toBeVisible();
    await page.getByRole("button", { name: "Send", exact: true }).click();
    await giveReason(page, "Send");
    await page.getByRole("link", { name: "Follow the job" }).click();
    await expect(page.getByText("2 of 2")).toBeVisible();
    await expectUsable(page);
    await page.getByRole("button", { name: "Recall the notification" }).click();
    await giveReason(page, "Recall");
    await expect(page.getByText("Recalled")).toBeVisible();
    const row = page.getByRole("table", { name: "Recipients" }).getByRole("row").filter({ hasText: anna });
    await expect(async () => {
      await page.reload();
      await expect(row.getByRole("time")).toHaveCount(2, { timeout: 2_000 });
    }).toPass();
    await page.getByRole("link", { name: "Jobs" }).click();
    await expect(page.getByRole("table", { name: "Jobs" })).toContainText("redact");
    await expectUsable(page);
  });

  test("a segment is defined, and a version of a list is activated", async ({
    openConsole,
    unique,
    server,
  }) => {
    const [anna, ben, plan] = [unique("anna"), unique("ben"), unique("plan")];
    for (const user of [anna, ben])
      await server.call("set_profile", { path: { user }, body: { attributes: { [plan]: user } } });
    const page = await openConsole("/t/dev/segments");
    const [name, list] = [unique("segment"), unique("list")];
    await page.getByLabel("Name").fill(name);
    await page
      .getByRole("textbox", { name: "Predicate" })
      .fill(JSON.stringify({ attribute: plan, exists: true }));
    await page.getByRole("button", { name: "Define" }).click();
    await expect(page.getByRole("heading", { name: `Segment ${name}` })).toBeVisible();
    await expect(page.getByText("2 users with a profile")).toBeVisible();
    await expectUsable(page);
    await page
      .getByRole("textbox", { name: "Predicate" })
      .fill(JSON.stringify({ attribute: plan, is: anna }));
    await page.getByRole("button", { name: "Save" }).click();
    await expect(page.getByText("1 user with a profile")).toBeVisible();
    for (const users of [[anna, ben], [ben]])
      await server.call("upload_segment_users", { path: { segment: list }, body: { users } });
    await page.goto(new URL("/t/dev/segments", page.url()).href);
    await page.getByRole("link", { name: list }).click();
    const newest = page.getByRole("table", { name: "Versions" }).getByRole("row").nth(1);
    await newest.getByRole("button", { name: "Activate" }).click();
    await giveReason(page, "Activate");
    await expect(newest).toContainText("active");
    await expect(newest.getByRole("button")).toHaveCount(0);
    await expectUsable(page);
    await keepPicture(page, "console-segment");
  });

  test("the dry run of a broadcast shows its reach and its cost", async ({ openConsole }) => {
    const page = await openConsole("/t/dev/inboxes/default");
    await page.getByRole("combobox", { name: "To" }).selectOption("everyone");
    await page.getByRole("textbox", { name: "Message", exact: true }).fill('{"title": "Hello, everyone"}');
    await page.getByRole("button", { name: "Dry run" }).click();
    await expect(page.getByText(/It reaches about \d+ users/)).toBeVisible();
  });
});

test.describe("operations", () => {
  test("every process is ready, and figures of the last hours are plotted", async ({ openConsole }) => {
    const page = await openConsole("/health");
    const processes = page.getByRole("table", { name: "Processes" });
    for (const kind of ["api", "delivery", "gateway", "notifications", "relay"])
      await expect(
        processes.getByRole("row").filter({ hasText: kind }).first().getByText("ready", { exact: true }),
      ).toBeVisible({ timeout: POLLED_MS });
    await expect(page.getByRole("img", { name: /Open connections of a gateway/ })).toBeVisible();
    await expect(page.getByText(/checks without a problem/)).toBeVisible({ timeout: POLLED_MS });
    await expectUsable(page);
    await keepPicture(page, "console-health");
  });

  test("settings show their origin and no secret", async ({ openConsole, installation }) => {
    const page = await openConsole("/settings");
    await page.getByLabel("Part of the name").fill("console.");
    await expect(page.getByRole("row").filter({ hasText: "console.port" })).toContainText("environment");
    await expectUsable(page);
    await expect(page.getByText(installation.client.console_key)).toHaveCount(0);
    await page.getByLabel("Part of the name").fill("no such setting");
    await expect(page.getByText("No setting has this name")).toBeVisible();
  });

  test("a dead letter is inspected, replayed and dropped with a reason", async ({
    openConsole,
    unique,
    installation,
  }) => {
    const key = unique("dev#g");
    installation.publish("messages", key, "This is not an event.");
    const page = await openConsole("/dead-letters");
    const rows = page.getByRole("table", { name: "Dead letters" }).getByRole("row").filter({ hasText: key });
    await expect(async () => {
      await page.reload();
      await expect(rows).toHaveCount(1, { timeout: 2_000 });
    }).toPass();
    await expectUsable(page);
    await keepPicture(page, "console-dead-letters");
    await rows.getByRole("link").click();
    await expect(page.getByText("This is not an event.")).toHaveCount(0);
    await page.getByRole("button", { name: "Read", exact: true }).click();
    await giveReason(page, "Read the content");
    await expect(page.getByText("This is not an event.")).toBeVisible();
    await expectUsable(page);
    await page.getByRole("button", { name: "Replay" }).click();
    await giveReason(page, "Replay");
    await expect(page.getByText("Replayed")).toBeVisible();
    await page.getByRole("link", { name: /^All dead letters/ }).click();
    await expect(async () => {
      await page.reload();
      await expect(rows).toHaveCount(1, { timeout: 2_000 });
    }, "the worker cannot decode it again").toPass();
    await rows.getByRole("link").click();
    await page.getByRole("button", { name: "Drop" }).click();
    await giveReason(page, "Drop");
    await expect(page.getByText("Dropped")).toBeVisible();
    await page.getByRole("link", { name: /^All dead letters/ }).click();
    await expect(page.getByRole("heading", { name: "Dead letters" })).toBeVisible();
    await expect(rows).toHaveCount(0);
    await page.goto(new URL("/audit", page.url()).href);
    for (const operation of ["read_dead_letter", "replay_dead_letter", "drop_dead_letter"])
      await expect(page.getByRole("row").filter({ hasText: operation }).first()).toContainText(REASON);
  });

  test("a gateway is drained: its devices come back, and the audit log has the reason", async ({
    openConsole,
    open,
    unique,
    installation,
  }) => {
    test.slow(); // the gateway ends and starts again
    const device = await open(unique("anna"));
    await device.isLive();
    const before = installation.pidOf("gateway");
    const page = await openConsole("/gateways");
    const row = page.getByRole("table", { name: "Gateways" }).getByRole("row").nth(1);
    await expect(row.getByText("ready", { exact: true })).toBeVisible({ timeout: POLLED_MS });
    await expectUsable(page);
    await keepPicture(page, "console-gateways");
    await row.getByRole("button", { name: "Drain" }).click();
    await giveReason(page, "Drain");
    await expect(async () => expect(installation.pidOf("gateway")).not.toBe(before)).toPass();
    await device.isLive();
    expect(device.link.opened).toBeGreaterThan(1);
    await page.goto(new URL("/audit", page.url()).href);
    await expect(page.getByRole("row").filter({ hasText: "drain_gateway" }).first()).toContainText(REASON);
  });

  test("the findings of the doctor are on the health page", async ({ openConsole }) => {
    test.slow(); // the checks run in a process of their own
    const page = await openConsole("/health");
    await expect(page.getByText(/checks without a problem/)).toBeVisible({ timeout: 60_000 });
    await page.getByText(/checks without a problem/).click();
    await expect(page.getByRole("listitem").filter({ hasText: "gateway at" })).toContainText("is ready");
    await expect(page.getByRole("link", { name: /dead letters$/ }).first()).toBeVisible();
  });

  for (const [name, options] of Object.entries(LOOKS)) {
    test(`the pages are usable: ${name}`, { tag: tagOf(name) }, async ({ openConsole }) => {
      test.slow(); // axe takes long on a page with many plots
      const page = await openConsole("/health", options);
      await expect(page.getByRole("img").first()).toBeVisible();
      await expectUsable(page);
      await keepPicture(page, `console-health-${name}`);
      for (const [path, text] of [
        ["/t/dev/inboxes", "default"],
        ["/t/dev/inboxes/default", "Dry run"],
        ["/t/dev/segments", "Define a segment"],
        ["/gateways", "Open connections"],
        ["/dead-letters", "waiting"],
      ] as const) {
        await page.goto(new URL(path, page.url()).href);
        await expect(page.getByText(text).first()).toBeAttached();
        await expectUsable(page);
        const last = path.split("/").at(-1) ?? "";
        if (PICTURES.includes(last)) await keepPicture(page, `console-${last}-${name}`);
      }
    });
  }
});
