/** The requests of push notifications, and the subscription of a browser. */
import { beforeEach, expect, test } from "vitest";
import { PushNotifications, subscribeToPush, TidingsError, unsubscribeFromPush } from "../src/index.ts";
import { clientOf, live } from "./clients.ts";
import { error, ScriptedServer } from "./scripted_server.ts";

const KEY = "BNcRdreALRFXTkOOUHK1EtK2wtaz5Ry4YfYCA_0QTpQtUbVlUls0VJXg7A8u-Ts1XbjhazAkj7I99e8QcYP7DkM";
const KEYS = { p256dh: "p".repeat(87), auth: "a".repeat(22) };

let server: ScriptedServer;
let push: PushNotifications;

beforeEach(async () => {
  server = new ScriptedServer();
  Object.assign(server.answers, {
    register_push: () => ({ ok: {} }),
    unregister_push: () => ({ ok: {} }),
    push_preferences: () => ({ ok: { notify: "mentions", time_zone: "UTC" } }),
    set_push_preferences: () => ({ ok: {} }),
    web_push_key: () => ({ ok: { public_key: KEY } }),
    badge: () => ({ ok: { badge: 3, messages: 3, chats: 1, notifications: 0 } }),
  });
  const client = clientOf(server);
  push = new PushNotifications(client);
  await live(client);
});

/** A push manager whose subscriptions have the key that they were made with. */
class ScriptedPushManager {
  key: string | undefined;
  made = 0;

  async getSubscription() {
    const [key, made] = [this.key, this.made];
    if (key === undefined) return null;
    const bytes = Uint8Array.from(atob(key.replaceAll("-", "+").replaceAll("_", "/")), (each) =>
      each.charCodeAt(0),
    );
    return {
      options: { applicationServerKey: bytes.buffer },
      toJSON: () => ({ endpoint: `https://push.example.com/${made}`, keys: KEYS }),
      unsubscribe: async () => {
        this.key = undefined;
        return true;
      },
    };
  }

  async subscribe(options: { userVisibleOnly: boolean; applicationServerKey: string }) {
    expect(options.userVisibleOnly).toBe(true);
    this.key = options.applicationServerKey;
    this.made++;
    return this.getSubscription();
  }
}

const workerOf = (pushManager: ScriptedPushManager) =>
  ({ pushManager }) as unknown as ServiceWorkerRegistration;

test("a device is registered and unregistered", async () => {
  await push.register({ fcm: "token", locale: "de" });
  await push.unregister();
  expect(server.tries("register_push")).toEqual([{ fcm: "token", locale: "de" }]);
  expect(server.tries("unregister_push")).toEqual([{}]);
});

test("preferences and the badge are read, and preferences are replaced", async () => {
  expect(await push.preferences()).toEqual({ notify: "mentions", time_zone: "UTC" });
  expect(await push.badge()).toEqual({ badge: 3, messages: 3, chats: 1, notifications: 0 });
  const wanted = { notify: "none", quiet_hours: { start: "22:00", end: "07:00" } } as const;
  await push.setPreferences(wanted);
  expect(server.tries("set_push_preferences")).toEqual([wanted]);
});

test("a browser subscribes once, and again after the key of the server has changed", async () => {
  const manager = new ScriptedPushManager();
  const registered = (number: number) => ({
    web_push: { endpoint: `https://push.example.com/${number}`, ...KEYS, server_key: KEY },
  });
  await subscribeToPush(push, workerOf(manager));
  await subscribeToPush(push, workerOf(manager), { locale: "de" });
  expect(server.tries("register_push")).toEqual([registered(1), { locale: "de", ...registered(1) }]);
  manager.key = `B${"A".repeat(86)}`;
  await subscribeToPush(push, workerOf(manager));
  expect(server.tries("register_push").at(-1)).toEqual(registered(2));
  await unsubscribeFromPush(push, workerOf(manager));
  expect(server.tries("unregister_push")).toHaveLength(1);
  expect(manager.key).toBeUndefined();
});

test("a tenant without a key for browsers is reported", async () => {
  server.answers.web_push_key = () => error("push_not_configured");
  const subscribing = subscribeToPush(push, workerOf(new ScriptedPushManager()));
  await expect(subscribing).rejects.toThrow(TidingsError);
  expect(server.tries("register_push")).toEqual([]);
});
