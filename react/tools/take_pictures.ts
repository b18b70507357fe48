/**
 * Take pictures of the preview in Chromium: `node tools/take_pictures.ts FOLDER [SCREEN...]`.
 *
 * Serve the preview first: `npx vite build && npx vite preview --port 4199`.
 */
import { mkdir } from "node:fs/promises";
import { chromium, type Page } from "playwright";

const address = process.env.PREVIEW ?? "http://localhost:4199";
const [folder = ".pictures", ...chosen] = process.argv.slice(2);
const screens = [
  "chat",
  "direct",
  "list",
  "reply",
  "edit",
  "actions",
  "emoji",
  "offline",
  "no-chats",
  "no-messages",
  "loading",
  "error",
  "long",
  "inbox",
  "popover",
  "inbox-empty",
  "inbox-loading",
  "inbox-error",
  "search",
  "search-nothing",
];
const looks = [
  { name: "light", theme: "light", language: "en" },
  { name: "dark", theme: "dark", language: "en" },
  { name: "rtl", theme: "light", language: "ar" },
];
const sizes = [
  { name: "1280", width: 1280, height: 800 },
  { name: "390", width: 390, height: 780 },
];

/** Do what a user would do before the picture is taken. */
async function act(page: Page, screen: string): Promise<void> {
  if (screen === "popover") await page.click(".td-bell");
  if (screen === "actions" || screen === "emoji") await page.hover("[data-td-key=m12] .td-bubble");
  if (screen === "emoji") await page.click("[data-td-key=m12] .td-actions button");
  if (screen.startsWith("search")) {
    await page.locator(".td-search-open:visible").first().click();
    await page.fill(".td-search-field", "Hello");
    await page.waitForTimeout(800);
  }
  if (screen === "offline") await page.waitForSelector(".td-banner");
}

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
await mkdir(folder, { recursive: true });
for (const screen of chosen.length > 0 ? chosen : screens) {
  for (const look of looks) {
    for (const { name, ...viewport } of sizes) {
      const page = await browser.newPage({ viewport, deviceScaleFactor: 1 });
      page.on("pageerror", (error) => console.error(screen, look.name, error.message));
      const shown = screen === "actions" || screen === "emoji" ? "chat" : screen;
      await page.goto(`${address}/?bare&screen=${shown}&theme=${look.theme}&language=${look.language}`);
      await page.waitForSelector(".td-root");
      await page.waitForTimeout(600);
      await act(page, screen);
      await page.waitForTimeout(200);
      await page.screenshot({ path: `${folder}/${screen}-${look.name}-${name}.png` });
      await page.close();
    }
  }
}
await browser.close();
