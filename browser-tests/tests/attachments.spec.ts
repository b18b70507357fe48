/** Files in a real browser and a real bucket: sent by one user, seen by another, deleted, and resumed after a reload. */

import type { Page } from "@playwright/test";
import { HEADLESS } from "../stack/chromium.ts";
import { test as base, type Device, expect, expectAccessible, keepPicture } from "./fixtures.ts";

const MB = 1024 * 1024;
/** The media worker starts a process for each file. */
const PROCESSED = { timeout: 90_000 };

base.use({
  launchOptions: {
    ...HEADLESS,
    args: [...HEADLESS.args, "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"],
  },
});

const test = base.extend<{ chatting: { anna: Device; ben: Device; chat: string } }>({
  chatting: async ({ open, unique, createGroup, installation }, use) => {
    // Playwright does not see requests that pass through a service worker.
    const options = { api: installation.client.api, context: { serviceWorkers: "block" as const } };
    const [anna, ben] = [await open(unique("anna"), options), await open(unique("ben"), options)];
    const chat = await createGroup("Holiday", [anna.user, ben.user]);
    await anna.openChat(chat);
    await ben.openChat(chat);
    await use({ anna, ben, chat });
  },
});

/** Return a picture that the page draws: a PNG of this size. */
async function drawPicture(page: Page, width: number, height: number): Promise<Buffer> {
  const base64 = await page.evaluate(
    ([w = 1, h = 1]) => {
      const canvas = Object.assign(document.createElement("canvas"), { width: w, height: h });
      const context = canvas.getContext("2d") as CanvasRenderingContext2D;
      const sky = context.createLinearGradient(0, 0, 0, h);
      sky.addColorStop(0, "#3b82c4");
      sky.addColorStop(0.6, "#f2c48d");
      sky.addColorStop(0.61, "#2f6f73");
      context.fillStyle = sky;
      context.fillRect(0, 0, w, h);
      return canvas.toDataURL("image/png").split(",")[1] ?? "";
    },
    [width, height],
  );
  return Buffer.from(base64, "base64");
}

async function attach(device: Device, name: string, mimeType: string, buffer: Buffer): Promise<void> {
  await device.page.locator(".td-composer input[type=file]").setInputFiles({ name, mimeType, buffer });
}

async function send(device: Device): Promise<void> {
  await device.page.getByRole("button", { name: "Send message" }).click();
}

test("an image with its description is seen by another user, without a shift of the layout", async ({
  chatting: { anna, ben },
}) => {
  test.setTimeout(240_000);
  await attach(anna, "beach.png", "image/png", await drawPicture(anna.page, 1200, 800));
  await anna.page.getByLabel("Describe the image").fill("A beach at sunset");
  await expect(anna.page.getByRole("button", { name: "Send message" })).toBeEnabled();
  await keepPicture(anna.page, "attach");
  await expectAccessible(anna.page);
  await anna.part("composer").fill("We have arrived");
  const [link, thumbnail] = [hold(), hold()];
  await ben.page.route("**/attachments/*", (route) => link.held.then(() => route.continue()));
  await ben.page.route("**/thumbnail?*", (route) => thumbnail.held.then(() => route.continue()));
  await send(anna);

  const image = ben.page.getByRole("button", { name: "Open A beach at sunset" });
  // The space is reserved before the page knows where the thumbnail is.
  await expect(image).toBeVisible();
  await expect(image.locator("img")).toHaveCount(0);
  const before = await image.boundingBox();
  link.release();
  // A blurred picture is drawn until the thumbnail is loaded.
  await expect(image.locator("canvas")).toBeVisible(PROCESSED);
  expect(await image.boundingBox()).toEqual(before);
  await keepPicture(ben.page, "attachment-loading");
  thumbnail.release();
  await expect.poll(() => naturalWidth(image.locator("img")), PROCESSED).toBeGreaterThan(0);
  await expect(image.locator("canvas")).toHaveCount(0);
  expect(await image.boundingBox()).toEqual(before);
  expect(before && before.width / before.height).toBeCloseTo(1.5, 1);
  await expectAccessible(ben.page);
  await keepPicture(ben.page, "attachment");
  await ben.page.setViewportSize({ width: 390, height: 780 });
  await expect(image).toBeVisible();
  await keepPicture(ben.page, "attachment-phone");
  await ben.page.setViewportSize({ width: 1100, height: 720 });

  await image.focus();
  await ben.press("Enter");
  const gallery = ben.page.getByRole("dialog", { name: "Images" });
  await expect(gallery.getByRole("img", { name: "A beach at sunset" })).toBeVisible();
  await expect.poll(() => naturalWidth(gallery.getByRole("img"))).toBe(1200);
  await expectAccessible(ben.page);
  await ben.press("Escape");
  await expect(gallery).toHaveCount(0);
  await expect(image).toBeFocused();
});

/** Return a promise that waits until it is released. */
function hold(): { held: Promise<void>; release: () => void } {
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  return { held, release };
}

const naturalWidth = (image: ReturnType<Page["locator"]>) =>
  image.evaluate((element) => (element as HTMLImageElement).naturalWidth);

test("several images are a grid, and the arrow keys move between them", async ({
  chatting: { anna, ben },
}) => {
  test.setTimeout(240_000);
  for (const name of ["first.png", "second.png", "third.png"])
    await attach(anna, name, "image/png", await drawPicture(anna.page, 300, 500));
  await expect(anna.page.getByRole("button", { name: "Send message" })).toBeEnabled();
  await send(anna);
  await ben.page.getByRole("button", { name: "Open first.png" }).click();
  const gallery = ben.page.getByRole("dialog", { name: "Images" });
  await expect(gallery).toContainText("1 of 3");
  await ben.press("ArrowRight", "ArrowRight", "ArrowRight");
  await expect(gallery).toContainText("3 of 3");
  await expect(gallery.getByRole("img", { name: "third.png" })).toBeVisible();
});

test("a file is downloaded by another user, and gone within a minute of its redaction", async ({
  chatting: { anna, ben, chat },
}) => {
  test.setTimeout(240_000);
  await attach(anna, "minutes.txt", "text/plain", Buffer.from("Minutes of the meeting"));
  await expect(anna.page.getByRole("button", { name: "Send message" })).toBeEnabled();
  await send(anna);
  const row = ben.page.getByRole("button", { name: "Download minutes.txt, 22 byte" });
  const downloading = ben.page.waitForEvent("download", PROCESSED);
  await row.click();
  const download = await downloading;
  expect(download.suggestedFilename()).toBe("minutes.txt");
  const url = download.url();
  expect(await (await fetch(url)).text()).toBe("Minutes of the meeting");

  await anna.page.evaluate(async (id) => {
    const { timeline } = window.tidings.chat(id);
    const last = timeline.item(timeline.keys.get().at(-1) ?? "").get();
    await window.tidings.chat(id).redact(last?.sequence ?? 0).outcome;
  }, chat);
  await expect(ben.message("This message was deleted")).toBeVisible();
  await expect(row).toHaveCount(0);
  // The signature of the URL is still valid: the bucket has no such object.
  await expect.poll(async () => (await fetch(url)).status, { timeout: 60_000 }).toBe(404);
});

test("a voice message is recorded, sent and played by another user", async ({ chatting: { anna, ben } }) => {
  test.setTimeout(240_000);
  await anna.page.getByRole("button", { name: "Record a voice message" }).click();
  await expect(anna.page.locator(".td-recording")).toContainText("0:02");
  await anna.page.getByRole("button", { name: "Stop recording" }).click();
  await expect(anna.page.getByRole("button", { name: "Send message" })).toBeEnabled();
  await send(anna);
  const audio = ben.page.locator(".td-voice audio");
  await expect(audio).toHaveAttribute("src", /^http/, PROCESSED);
  const played = await audio.evaluate(async (element) => {
    const player = element as HTMLAudioElement;
    await player.play();
    await new Promise((resolve) => player.addEventListener("timeupdate", resolve, { once: true }));
    return player.error === null && player.currentTime >= 0;
  });
  expect(played).toBe(true);
  await expect(ben.page.locator(".td-voice")).toContainText(/0:0[2-9]/);
});

test("an upload that a reload stops at 50 % sends only the remaining parts", async ({
  chatting: { anna, ben, chat },
}) => {
  test.setTimeout(240_000);
  const size = 32 * MB;
  const numberOf = (url: string) => Number(new URL(url).searchParams.get("partNumber"));
  const choose = () =>
    anna.page.evaluate(
      ([bytes = 0]) => {
        const file = new File([new Uint8Array(bytes).fill(7)], "film.bin", { lastModified: 1_000 });
        const chosen = new DataTransfer();
        chosen.items.add(file);
        const input = document.querySelector<HTMLInputElement>(".td-composer input[type=file]");
        if (!input) throw new Error("There is no input for files.");
        input.files = chosen.files;
        input.dispatchEvent(new Event("change", { bubbles: true }));
      },
      [size],
    );

  // Parts 3 and 4 wait for their signature until the reload.
  let isReloaded = false;
  await anna.page.route("**/v1/uploads/*/parts", async (route) => {
    if (isReloaded || route.request().postDataJSON().parts[0].number < 3) await route.continue();
  });
  await choose();
  await expect(anna.page.locator(".td-draft")).toContainText("50% uploaded", { timeout: 60_000 });
  await anna.page.reload();
  isReloaded = true;
  await anna.openChat(chat);
  await expect(anna.page.getByText("The upload of film.bin was interrupted.")).toBeVisible();

  const sent: number[] = [];
  anna.page.on("request", (request) => {
    if (request.method() === "PUT") sent.push(numberOf(request.url()));
  });
  await choose();
  await expect(anna.page.getByRole("button", { name: "Send message" })).toBeEnabled({ timeout: 60_000 });
  expect(sent.sort()).toEqual([3, 4]);
  await send(anna);
  await expect(ben.page.getByRole("button", { name: /^Download film.bin/ })).toBeVisible();
});

test("a paused upload continues, and a removed one is cancelled", async ({ chatting: { anna } }) => {
  const held: (() => void)[] = [];
  await anna.page.route("**/original*", async (route) => {
    if (route.request().method() === "PUT") await new Promise<void>((resolve) => held.push(resolve));
    await route.continue().catch(() => undefined);
  });
  await attach(anna, "notes.txt", "text/plain", Buffer.from("Notes"));
  await anna.page.getByRole("button", { name: "Pause the upload of notes.txt" }).click();
  await expect(anna.page.locator(".td-draft")).toContainText("Paused");
  await anna.page.unroute("**/original*");
  for (const release of held) release();
  await anna.page.getByRole("button", { name: "Continue the upload of notes.txt" }).click();
  await expect(anna.page.getByRole("button", { name: "Send message" })).toBeEnabled();
  const deleted = anna.page.waitForRequest((request) => request.method() === "DELETE");
  await anna.page.getByRole("button", { name: "Remove notes.txt" }).click();
  expect((await (await deleted).response())?.status()).toBe(204);
  await expect(anna.page.locator(".td-draft")).toHaveCount(0);
});

test("files are attached by paste and by drag and drop", async ({ chatting: { anna } }) => {
  for (const kind of ["paste", "drop"]) {
    await anna.page.evaluate((type) => {
      const data = new DataTransfer();
      data.items.add(new File(["Text"], `${type}.txt`, { type: "text/plain" }));
      const options = { bubbles: true, cancelable: true };
      const event =
        type === "paste"
          ? new ClipboardEvent("paste", { ...options, clipboardData: data })
          : new DragEvent("drop", { ...options, dataTransfer: data });
      document
        .querySelector(type === "paste" ? ".td-composer-field" : ".td-log, .td-main")
        ?.dispatchEvent(event);
    }, kind);
    await expect(anna.page.getByRole("button", { name: `Remove ${kind}.txt` })).toBeVisible();
  }
  await expect(anna.page.getByRole("button", { name: "Send message" })).toBeEnabled();
});

test("a message shows what the page of its link says about itself", async ({ chatting: { anna, ben } }) => {
  const image = `data:image/png;base64,${(await drawPicture(ben.page, 320, 240)).toString("base64")}`;
  const page = {
    url: "https://example.com/beach",
    title: "The beach of the bay",
    description: "Opening hours and arrival.",
  };
  await ben.page.route("**/link-preview", (route) =>
    route.fulfill({
      json: { state: "ready", ...page, image },
      headers: { "Access-Control-Allow-Origin": "*" },
    }),
  );
  await anna.part("composer").fill("Tomorrow here: https://example.com/beach");
  await send(anna);
  const preview = ben.page.getByRole("link", { name: /The beach of the bay/ });
  await expect(preview).toBeVisible();
  await expect(preview).toHaveAttribute("href", page.url);
  await expect(preview).toContainText("Opening hours and arrival.");
  // Anna's tenant has no previews: the page of the message is not fetched for her.
  await expect(anna.page.locator(".td-link-preview")).toHaveCount(0);
  await expectAccessible(ben.page);
  await keepPicture(ben.page, "link-preview");
  await ben.page.setViewportSize({ width: 390, height: 780 });
  await expect(preview).toBeVisible();
  await keepPicture(ben.page, "link-preview-phone");
});
