import { expectUsable, giveReason, LOOKS, REASON, tagOf, test } from "./console_fixtures.ts";
import { expect, keepPicture } from "./fixtures.ts";

test.describe("sign-in", () => {
  test("the link of `tidings dev` signs in, and the key leaves the address", async ({ openConsole }) => {
    const page = await openConsole();
    expect(page.url()).not.toContain("key");
    await expect(page.getByRole("heading", { name: "Tenant dev" })).toBeVisible();
    await page.reload();
    await expect(page.getByRole("heading", { name: "Tenant dev" })).toBeVisible();
    await page.getByRole("button", { name: "Sign out" }).click();
    await expect(page.getByLabel("Bootstrap key")).toBeVisible();
  });

  test("a wrong key is refused, and the right one works by keyboard alone", async ({
    page,
    installation,
  }) => {
    await page.goto(installation.client.console);
    await page.getByLabel("Bootstrap key").fill("wrong");
    await page.keyboard.press("Enter");
    await expect(page.getByRole("alert")).toBeVisible();
    await expectUsable(page);
    await page.getByLabel("Bootstrap key").fill(installation.client.console_key);
    await page.keyboard.press("Enter");
    await expect(page.getByRole("heading", { name: "Tenant dev" })).toBeVisible();
  });
});

test.describe("administration", () => {
  test("an API key is issued and revoked with a reason, and the audit log has both", async ({
    openConsole,
    unique,
    request,
    installation,
  }) => {
    const title = unique("key");
    const page = await openConsole("/t/dev");
    await page.getByLabel("Name of a new key").fill(title);
    await page.getByRole("button", { name: "Issue a key" }).click();
    await giveReason(page, "Issue");
    const notice = page.getByRole("status").filter({ hasText: "Copy the secret now" });
    const secret = (await notice.getByRole("code").textContent()) ?? "";
    const listInboxes = () =>
      request.get(`${installation.client.api}/v1/inboxes`, {
        headers: { Authorization: `Bearer ${secret}` },
      });
    expect((await listInboxes()).status()).toBe(200);
    const row = page.getByRole("row").filter({ hasText: title });
    await row.getByRole("button", { name: "Revoke" }).click();
    await giveReason(page, "Revoke");
    await expect(row).toContainText("revoked");
    await expectUsable(page);
    await page.getByRole("link", { name: "Audit log", exact: true }).click();
    for (const operation of ["issue_api_key", "revoke_api_key"])
      await expect(page.getByRole("row").filter({ hasText: operation }).first()).toContainText(REASON);
    await expect(page.getByText(secret)).toHaveCount(0);
    await expectUsable(page);
  });

  test("a cancelled dialog changes nothing", async ({ openConsole, unique }) => {
    const title = unique("key");
    const page = await openConsole("/t/dev");
    await page.getByLabel("Name of a new key").fill(title);
    await page.keyboard.press("Enter");
    await page.keyboard.press("Escape");
    await expect(page.getByRole("dialog")).toHaveCount(0);
    await page.reload();
    await expect(page.getByRole("table", { name: "API keys" })).toBeVisible();
    await expect(page.getByRole("row").filter({ hasText: title })).toHaveCount(0);
  });

  test("sign-ins are in the audit log of the installation", async ({ openConsole }) => {
    const page = await openConsole("/audit");
    await expect(page.getByRole("row").filter({ hasText: "create_session" }).first()).toContainText("ok");
    await page.getByLabel("Month").fill("2020-01");
    await expect(page.getByText("No action was recorded in this month")).toBeVisible();
  });

  for (const [name, options] of Object.entries(LOOKS)) {
    test(`the pages are usable: ${name}`, { tag: tagOf(name) }, async ({ openConsole }) => {
      const page = await openConsole("/t/dev", options);
      await expect(page.getByRole("table", { name: "API keys" })).toBeVisible();
      await expectUsable(page);
      await keepPicture(page, `console-tenant-${name}`);
      for (const path of ["/t/dev/audit", "/audit"]) {
        await page.goto(new URL(path, page.url()).href);
        await expect(page.getByRole("table").first()).toBeVisible();
        await expectUsable(page);
      }
    });
  }
});

test.describe("support", () => {
  test("a message is found from the user to the reason in five clicks", async ({
    openConsole,
    unique,
    server,
    createDirect,
    open,
  }) => {
    const [anna, ben] = [unique("anna"), unique("ben")];
    for (const id of [anna, ben]) await server.call("create_user", { body: { id } });
    const chat = await createDirect(anna, ben);
    await server.call("send_message", { path: { chat }, user: anna, body: { text: "Did you get this?" } });
    const page = await openConsole("/t/dev/users");
    await page.getByLabel("Find by").selectOption("id");
    await page.getByRole("textbox", { name: "Id" }).fill(anna);
    await page.getByRole("button", { name: "Find" }).click();
    await page.getByRole("link", { name: anna }).click();
    await page.getByRole("link", { name: ben }).click();
    await page.getByRole("link", { name: "Where is it?" }).last().click();
    await expect(page.getByRole("heading", { name: "Timeline" })).toBeVisible();
    await expect(page.getByRole("article", { name: `Recipient ${ben}` })).toContainText(/offline|waiting/);
    await expectUsable(page);
    const device = await open(ben);
    await device.isLive();
    await expect(async () => {
      await page.getByRole("button", { name: "Look again" }).click();
      await expect(page.getByRole("article", { name: `Recipient ${ben}` })).toContainText("delivered", {
        timeout: 1_000,
      });
    }).toPass();
  });

  test("content is shown only after a reason", async ({ openConsole, unique, server, createDirect }) => {
    const [anna, ben] = [unique("anna"), unique("ben")];
    const chat = await createDirect(anna, ben);
    await server.call("send_message", { path: { chat }, user: anna, body: { text: "A private text" } });
    const page = await openConsole(`/t/dev/chats/${chat}`);
    const read = page.getByRole("button", { name: "Read" }).last();
    await expect(read).toBeVisible();
    await expect(page.getByText("A private text")).toHaveCount(0);
    await read.click();
    await page.keyboard.press("Escape");
    await expect(page.getByRole("dialog")).toHaveCount(0);
    await expect(page.getByText("A private text")).toHaveCount(0);
    await read.click();
    await giveReason(page, "Read the content");
    await expect(page.getByText("A private text")).toBeVisible();
  });

  test("a badge is explained for chats and for the inbox", async ({
    openConsole,
    unique,
    server,
    createDirect,
  }) => {
    const [anna, ben] = [unique("anna"), unique("ben")];
    for (const id of [anna, ben]) await server.call("create_user", { body: { id } });
    const chat = await createDirect(anna, ben);
    for (const text of ["one", "two", "three"])
      await server.call("send_message", { path: { chat }, user: anna, body: { text } });
    const message = { title: "Hello" };
    await server.call("send_notification", {
      path: { inbox: "default" },
      body: { user_ids: [ben], message },
    });
    const page = await openConsole(`/t/dev/users/${ben}`);
    await expect(async () => {
      await page.reload();
      await expect(page.getByText("It was delivered and is unread.")).toBeVisible({ timeout: 2_000 });
    }).toPass();
    await expectUsable(page);
    await page.getByRole("link", { name: "Why this number?" }).click();
    await expect(page.getByText("3 unread")).toBeVisible();
    await expectUsable(page);
  });

  test("a user has devices, and a list without results says so", async ({
    openConsole,
    unique,
    open,
    server,
  }) => {
    const anna = unique("anna");
    await server.call("create_user", { body: { id: anna } });
    const device = await open(anna);
    await device.isLive();
    const page = await openConsole(`/t/dev/users/${anna}`);
    await expect(page.getByRole("table", { name: "Connected devices" }).getByRole("row")).toHaveCount(2);
    await expect(page.getByText("This user has no chat")).toBeVisible();
    await page.goto(new URL(`/t/dev/users?id=${unique("nobody")}`, page.url()).href);
    await expect(page.getByText("No user found")).toBeVisible();
    await expectUsable(page);
  });

  for (const [name, options] of Object.entries(LOOKS)) {
    test(`the pages are usable: ${name}`, { tag: tagOf(name) }, async ({ openConsole, installation }) => {
      const { direct } = installation.client.chats;
      const page = await openConsole("/t/dev/users", options);
      await expect(page.getByRole("link", { name: "anna" }).first()).toBeVisible();
      await expectUsable(page);
      for (const [path, text] of [
        ["/t/dev/users/anna", "Connected devices"],
        [`/t/dev/chats/${direct}`, "Where is it?"],
        [`/t/dev/messages/${direct}.2`, "Timeline"],
      ] as const) {
        await page.goto(new URL(path, page.url()).href);
        await expect(page.getByText(text).first()).toBeVisible();
        await expectUsable(page);
      }
    });
  }
});
