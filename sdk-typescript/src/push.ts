/** Push notifications of the device and its user. */
import type { Badge, PushPreferences, RegisterPush, SetPushPreferences } from "./frames.gen.ts";
import type { LightClient } from "./light_client.ts";

/** Push notifications of a client. Methods reject with a `TidingsError`. */
export class PushNotifications {
  readonly #client: LightClient;

  constructor(client: LightClient) {
    this.#client = client;
  }

  /**
   * Register the device with exactly one token or subscription, replacing its former one. Call it at each start of the
   * app, because tokens change. In browsers, use {@link subscribeToPush}.
   */
  async register(registration: RegisterPush): Promise<void> {
    await this.#client.request("register_push", registration);
  }

  /** Stop push notifications of the device. In browsers, use {@link unsubscribeFromPush}. */
  async unregister(): Promise<void> {
    await this.#client.request("unregister_push", {});
  }

  /** Read the user's preferences. */
  preferences(): Promise<PushPreferences> {
    return this.#client.request("push_preferences", {});
  }

  /** Replace the user's preferences. */
  async setPreferences(preferences: SetPushPreferences): Promise<void> {
    await this.#client.request("set_push_preferences", preferences);
  }

  /** Read the number for the app's icon. Push notifications contain the same number. */
  badge(): Promise<Badge> {
    return this.#client.request("badge", {});
  }

  /** Read the public key that browsers subscribe with. */
  async webPushKey(): Promise<string> {
    return (await this.#client.request("web_push_key", {})).public_key;
  }
}

/**
 * Subscribe the browser to Web Push, and register the subscription. Call it at each start of the app, after the user
 * has allowed notifications. A subscription with a former key of the server is replaced.
 *
 * @example
 * ```ts
 * const worker = await navigator.serviceWorker.register("/service_worker.js", { type: "module" });
 * await subscribeToPush(new PushNotifications(client), worker, { locale: navigator.language });
 * ```
 */
export async function subscribeToPush(
  push: PushNotifications,
  worker: ServiceWorkerRegistration,
  options: Pick<RegisterPush, "locale" | "data_only"> = {},
): Promise<void> {
  const key = await push.webPushKey();
  let subscription = await worker.pushManager.getSubscription();
  if (subscription && base64Url(subscription.options.applicationServerKey) !== key) {
    await subscription.unsubscribe();
    subscription = null;
  }
  subscription ??= await worker.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
  const { endpoint = "", keys: { p256dh = "", auth = "" } = {} } = subscription.toJSON();
  await push.register({ ...options, web_push: { endpoint, p256dh, auth, server_key: key } });
}

/** Remove the registration and the browser's subscription, before the user signs out. */
export async function unsubscribeFromPush(
  push: PushNotifications,
  worker: ServiceWorkerRegistration,
): Promise<void> {
  await push.unregister();
  await (await worker.pushManager.getSubscription())?.unsubscribe();
}

function base64Url(bytes: ArrayBuffer | null): string {
  const text = btoa(String.fromCharCode(...new Uint8Array(bytes ?? new ArrayBuffer(0))));
  return text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
