/**
 * Push notifications in a real service worker.
 *
 * Chromium cannot subscribe without its vendor's push service. So the subscription is one of the repository's Web Push
 * test service, which verifies and decrypts what Tidings sends. The test then gives the decrypted message to the service
 * worker through the DevTools protocol. Subscribing and the way from the push service to the browser are not tested.
 */
import type { CDPSession, Page } from "@playwright/test";
import type { PushMessage } from "@tidings/client/service-worker";
import { CHROMIUM } from "../stack/chromium.ts";
import { PushService, type SubscriptionJson } from "../stack/push_service.ts";
import { expect, test } from "./fixtures.ts";

test.use({ launchOptions: CHROMIUM });

/** Install the service worker of push messages. Its scope differs from that of the worker that caches the page. */
async function installWorker(page: Page, subscription: SubscriptionJson): Promise<void> {
  await page.evaluate(async (given) => {
    const worker = await navigator.serviceWorker.register("/push_worker.js", {
      scope: "/push/",
      type: "module",
    });
    const made = { toJSON: () => given };
    const pushManager = { getSubscription: async () => null, subscribe: async () => made };
    await window.subscribeToPush({ pushManager } as unknown as ServiceWorkerRegistration);
    while (!worker.active) await new Promise((resolve) => setTimeout(resolve, 50));
  }, subscription);
}

/** Return a function that raises a push event in the service worker. */
async function deliveryTo(page: Page): Promise<(message: PushMessage) => Promise<void>> {
  const devtools: CDPSession = await page.context().newCDPSession(page);
  let registrationId = "";
  devtools.on("ServiceWorker.workerRegistrationUpdated", ({ registrations }) => {
    const found = registrations.find(({ scopeURL }) => scopeURL.endsWith("/push/"));
    registrationId = found?.registrationId ?? registrationId;
  });
  await devtools.send("ServiceWorker.enable");
  await expect.poll(() => registrationId).not.toBe("");
  const { origin } = new URL(page.url());
  return async (message) => {
    const data = JSON.stringify(message);
    await devtools.send("ServiceWorker.deliverPushMessage", { origin, registrationId, data });
  };
}

/** Return the notifications that the browser shows. */
function shown(page: Page) {
  return page.evaluate(async () => {
    const worker = await navigator.serviceWorker.getRegistration("/push/");
    const found = (await worker?.getNotifications()) ?? [];
    return found.map(({ title, body, tag, silent }) => ({ title, body, tag, silent }));
  });
}

test("a service worker shows the notification of an offline user, and a read withdraws it", async ({
  open,
  unique,
  server,
  createDirect,
}) => {
  test.slow();
  const service = new PushService();
  try {
    const subscription = await service.subscribe(process.env.TIDINGS_WEB_PUSH_KEY ?? "");
    const [anna, ben] = [unique("anna"), await open(unique("ben"))];
    await ben.context.grantPermissions(["notifications"]);
    await ben.isLive();
    const chat = await createDirect(anna, ben.user);
    await installWorker(ben.page, subscription);
    const deliver = await deliveryTo(ben.page);
    await ben.page.evaluate(() => window.tidings.close());

    let sent = 0;
    const send = (text: string) => {
      const body = { text, client_message_id: unique(`message-${sent++}`) };
      return server.call("send_message", { user: anna, path: { chat }, body });
    };
    // A push worker that looked for the key when `tidings dev` sent its first messages looks again after 30 seconds.
    await expect(async () => {
      await send("hello");
      await expect.poll(() => service.messages.length, { timeout: 8_000 }).toBeGreaterThan(0);
    }).toPass({ timeout: 60_000 });
    const { sequence } = await send("last");
    await expect.poll(() => Number(service.messages.at(-1)?.tidings.sequence)).toBe(sequence);
    for (const message of service.messages) await deliver(message);
    const newest = service.messages.at(-1);
    await expect
      .poll(() => shown(ben.page))
      .toEqual([{ title: newest?.title, body: newest?.body, tag: chat, silent: newest?.silent }]);
    expect(newest?.badge).toBe(sequence - 1);

    await ben.page.evaluate(() => window.tidings.start());
    await ben.isLive();
    await ben.openChat(chat);
    await expect.poll(() => service.messages.at(-1)?.tidings.action).toBe("withdraw");
    await deliver(service.messages.at(-1) as PushMessage);
    await expect.poll(() => shown(ben.page)).toEqual([]);
    expect(service.refused).toEqual([]);
  } finally {
    service.stop();
  }
});
