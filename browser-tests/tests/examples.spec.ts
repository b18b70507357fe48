import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ServerClient } from "@tidings/server";
import type { Installation } from "../stack/installation.ts";
import { NetworkLink } from "../stack/network.ts";
import { chatRow, PARTS } from "../stack/parts.ts";
import { freePort } from "../stack/ports.ts";
import { expect, expectAccessible, test } from "./fixtures.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const EXAMPLES = join(ROOT, "examples");
const children: ChildProcess[] = [];

test.afterEach(() => {
  // With the processes that it has started itself, such as the server of `next dev`.
  for (const { pid } of children.splice(0)) if (pid) process.kill(-pid, "SIGKILL");
});

function start(command: string, args: string[], cwd: string, env: Record<string, string>): void {
  children.push(
    spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio: "inherit", detached: true }),
  );
}

async function isServing(url: string): Promise<void> {
  await expect
    .poll(
      () =>
        fetch(url).then(
          ({ ok }) => ok,
          () => false,
        ),
      { timeout: 60_000 },
    )
    .toBe(true);
}

function keyFile(installation: Installation): string {
  const path = join(installation.directory, "dev-key.json");
  writeFileSync(path, JSON.stringify(installation.signingKey));
  return path;
}

const TOKEN_SERVERS = {
  Node: [process.execPath, "token_server.ts"],
  Python: ["python", "token_server.py"],
} as const;

async function startTokenServer(
  kind: keyof typeof TOKEN_SERVERS,
  installation: Installation,
): Promise<string> {
  const port = await freePort();
  const [command, script] = TOKEN_SERVERS[kind];
  start(command, [script, keyFile(installation)], join(EXAMPLES, "token-server"), { PORT: String(port) });
  await isServing(`http://127.0.0.1:${port}/token?user=anna`);
  return `http://127.0.0.1:${port}`;
}

/** Serve an example as `npm run dev` does: with the development build of React, in which StrictMode mounts twice. */
async function startVite(example: string, tokenServer: string, gateway: string): Promise<string> {
  const port = await freePort();
  const args = [join(ROOT, "node_modules/vite/bin/vite.js"), "--port", String(port), "--host", "127.0.0.1"];
  const env = { TOKEN_SERVER: tokenServer, VITE_TIDINGS_URL: gateway };
  start(process.execPath, args, join(EXAMPLES, example), env);
  const url = `http://127.0.0.1:${port}`;
  await isServing(url);
  return url;
}

for (const tokens of ["Node", "Python"] as const) {
  test(`react-chat works with the token endpoint in ${tokens}, with one connection in StrictMode`, {
    tag: tokens === "Node" ? "@slow" : [],
  }, async ({ page, installation, server }) => {
    const link = await NetworkLink.to(installation.client.gateway);
    const url = await startVite("react-chat", await startTokenServer(tokens, installation), link.url);
    await page.goto(`${url}/?user=anna`);
    const chat = installation.client.chats.group;
    await page.locator(chatRow(chat)).click();
    await page.locator(PARTS.composer).fill(`Hello from React, ${tokens}`);
    await page.keyboard.press("Enter");
    await expect(
      page.locator("[data-delivery=committed]", { hasText: `Hello from React, ${tokens}` }),
    ).toBeVisible();
    const history = await server.call("list_messages", { path: { chat }, query: { limit: 20 }, user: "ben" });
    expect(history.entries.filter(({ text }) => text === `Hello from React, ${tokens}`)).toHaveLength(1);
    expect(link.opened).toBe(1);
    await expectAccessible(page);
    await link.close();
  });
}

test("react-inbox shows a notification and its badge", async ({ page, installation, server }) => {
  const { gateway } = installation.client;
  const url = await startVite("react-inbox", await startTokenServer("Node", installation), gateway);
  await page.goto(`${url}/?user=ben`);
  const message = { title: "Your order has shipped" };
  await server.call("send_notification", {
    path: { inbox: "default" },
    body: { user_ids: ["ben"], message },
  });
  await expect(page.locator(PARTS.badge)).toHaveText(/[1-9]/);
  await page.locator(PARTS.bell).click();
  await expect(page.locator(PARTS.notification, { hasText: "shipped" })).toBeVisible();
  await expectAccessible(page);
});

test("plain-client shows and sends messages without React", async ({ page, installation }) => {
  const { gateway, chats } = installation.client;
  const url = await startVite("plain-client", await startTokenServer("Node", installation), gateway);
  await page.goto(`${url}/?user=anna&chat=${chats.group}`);
  await expect(page.locator("#messages li", { hasText: "Lunch at noon?" })).toBeVisible();
  await page.getByLabel("Message").fill("Plain and simple");
  await page.getByRole("button", { name: "Send" }).click();
  await expect(page.locator("#messages li", { hasText: /^anna: Plain and simple$/ })).toBeVisible();
  await expect(page.locator("#status")).toHaveText("live");
  await expectAccessible(page);
});

test("the bot of plain-client answers in Node", async ({ installation, server }) => {
  const { gateway, chats, users } = installation.client;
  const env = { TIDINGS_URL: gateway, TIDINGS_USER: "cleo", TIDINGS_TOKEN: users.cleo?.token ?? "" };
  start(process.execPath, ["bot.ts"], join(EXAMPLES, "plain-client"), env);
  const path = { chat: chats.group };
  const mark = `ping ${Date.now()}`;
  // The bot answers only messages that arrive after its first sync.
  await expect
    .poll(
      async () => {
        await server.call("send_message", { path, user: "ben", body: { text: `echo ${mark}` } });
        const { entries } = await server.call("list_messages", { path, query: { limit: 10 }, user: "ben" });
        return entries.some(({ text, sender }) => text === mark && sender === "cleo");
      },
      { intervals: [1_000] },
    )
    .toBe(true);
});

test("the programs of the TypeScript SDK's page send, observe and read", async ({ installation, server }) => {
  const cwd = installation.directory;
  const script = (name: string) => join(EXAMPLES, "plain-client", name);
  // It prints messages until it is ended, so it is not waited for.
  start(process.execPath, [script("quick_start.ts")], cwd, {});
  const path = { chat: installation.client.chats.direct };
  await expect
    .poll(async () => {
      const { entries } = await server.call("list_messages", { path, query: { limit: 5 }, user: "ben" });
      return entries.filter(({ text, sender }) => text === "Hello!" && sender === "anna").length;
    })
    .toBe(1);
  const printed = execFileSync(process.execPath, [script("tour.ts")], { cwd, encoding: "utf8" });
  expect(printed).toMatch(/row changed\n.* unread before, 0 after\n.*uploading\n.*received: The plan\n$/s);
});

test("next-app renders on the server and chats in the browser @slow", async ({ page, installation }) => {
  test.setTimeout(180_000);
  const port = await freePort();
  const link = await NetworkLink.to(installation.client.gateway);
  const next = join(ROOT, "node_modules/next/dist/bin/next");
  const env = {
    TIDINGS_URL: link.url,
    TIDINGS_KEY_FILE: keyFile(installation),
    NEXT_TELEMETRY_DISABLED: "1",
  };
  start(process.execPath, [next, "dev", "--port", String(port)], join(EXAMPLES, "next-app"), env);
  // The development server of Next.js serves its scripts only to pages of `localhost`.
  await isServing(`http://localhost:${port}/?user=anna`);
  await page.goto(`http://localhost:${port}/?user=anna`);
  await page.locator(chatRow(installation.client.chats.group)).click();
  await page.locator(PARTS.composer).fill("Hello from Next.js");
  await page.keyboard.press("Enter");
  await expect(page.locator("[data-delivery=committed]", { hasText: "Hello from Next.js" })).toBeVisible();
  expect(link.opened).toBe(1);
  await expectAccessible(page);
  await link.close();
});

test("the recipes of the guides work", async ({ page, installation, server }) => {
  const { gateway, chats } = installation.client;
  const url = await startVite("react-recipes", await startTokenServer("Node", installation), gateway);
  const open = (recipe: string) => page.goto(`${url}/?user=anna&recipe=${recipe}`);
  await open("chat-and-inbox");
  await expect(page.locator(PARTS.bell)).toBeVisible();
  await expect(page.locator(chatRow(chats.direct))).toBeVisible();
  await open("named-users");
  await expect(page.locator(chatRow(chats.direct))).toContainText("Ben Okafor");
  await open("german");
  await expect(page.locator(".td-root").first()).toContainText("Chats");
  await open("own-part");
  const body = { text: "Order 17", data: { order: "17" } };
  await server.call("send_message", { path: { chat: chats.group }, user: "ben", body });
  await page.locator(chatRow(chats.group)).click();
  await expect(page.getByRole("link", { name: "Order 17" }).last()).toBeVisible();
  await open("own-interface");
  await page.getByLabel("Message").fill("Written with hooks");
  await page.getByRole("button", { name: "Send" }).click();
  await expect(page.getByText("anna: Written with hooks")).toBeVisible();
  await open("inbox-page");
  await expect(page.locator("strong", { hasText: "Welcome" })).toBeVisible();
});

test("the programs of the Node SDK's page sign a token and call the API", async ({
  installation,
  server,
}) => {
  const { api, chats, server_key } = installation.client;
  const env = { ...process.env, TIDINGS_API: api, TIDINGS_API_KEY: server_key };
  const run = (script: string, ...args: string[]) =>
    execFileSync(process.execPath, [script, ...args], {
      cwd: join(EXAMPLES, "token-server"),
      env,
      encoding: "utf8",
    });
  const token = run("sign_token.ts", keyFile(installation)).trim();
  expect(await new ServerClient({ url: api, apiKey: token }).call("get_me")).toMatchObject({ id: "anna" });
  run("send_message.ts", chats.group);
  const page = await server.call("list_messages", {
    path: { chat: chats.group },
    query: { limit: 1 },
    user: "ben",
  });
  expect(page.entries[0]?.text).toBe("On my way");
  const before = await server.call("count_notifications", { path: { inbox: "default" }, user: "anna" });
  run("send_notification.ts");
  await expect
    .poll(
      async () =>
        (await server.call("count_notifications", { path: { inbox: "default" }, user: "anna" })).unread,
    )
    .toBe(before.unread + 1);
});
