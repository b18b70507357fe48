/** Show Tidings' push notifications in a service worker: `@tidings/client/service-worker`. */

/** The fields of a push message, as texts. It is about a message of a chat, or about a notification of an inbox. */
export interface PushData {
  readonly chat?: string;
  readonly message_id?: string;
  readonly sequence?: string;
  readonly inbox?: string;
  readonly notification_id?: string;
  readonly badge: string;
  /** `alert` makes a sound, `update` replaces the notification silently, `withdraw` removes it. */
  readonly action: "alert" | "update" | "withdraw" | (string & {});
  /** The sender. Absent in private mode. */
  readonly sender?: string;
  readonly mention?: "true";
}

/** A push message. Without `title` it has no text, and the app shows it itself. */
export interface PushMessage {
  readonly tidings: PushData;
  readonly tag: string;
  readonly badge: number;
  readonly title?: string;
  readonly body?: string;
  readonly renotify?: boolean;
  readonly silent?: boolean;
}

export interface PushWorkerOptions {
  /** Return the address that a click on the notification opens. Default: `/`. */
  url?(data: PushData): string;
  /**
   * Return the title and further options of the notification, for example an icon, or a text that the app decrypts.
   * Undefined shows nothing. Default: the title and the text of the message, and nothing for one without a title.
   */
  content?(message: PushMessage): NotificationContent | undefined | Promise<NotificationContent | undefined>;
}

export interface NotificationContent extends NotificationOptions {
  readonly title: string;
}

/** The parts of `ServiceWorkerGlobalScope` that are used. */
export interface PushWorkerScope {
  readonly registration: Pick<ServiceWorkerRegistration, "showNotification" | "getNotifications">;
  readonly clients: WorkerClients;
  readonly location: { readonly href: string };
  readonly navigator: BadgeNavigator;
  addEventListener(type: string, listener: (event: never) => void): void;
}

interface WorkerClients {
  matchAll(options: { type: "window"; includeUncontrolled: boolean }): Promise<readonly WindowClient[]>;
  openWindow(url: string): Promise<unknown>;
}

interface WindowClient {
  readonly url: string;
  focus(): Promise<unknown>;
  navigate(url: string): Promise<unknown>;
}

interface BadgeNavigator {
  setAppBadge?(count: number): Promise<void>;
  clearAppBadge?(): Promise<void>;
}

interface WorkerEvent {
  waitUntil(work: Promise<unknown>): void;
}

interface ReceivedPush extends WorkerEvent {
  readonly data: { json(): unknown } | null;
}

interface ClickedNotification extends WorkerEvent {
  readonly notification: Notification;
}

/**
 * Show push messages as notifications. A newer message of a chat replaces the shown one, a read on another device
 * withdraws it, and each sets the badge. Messages of other senders are left to other listeners.
 *
 * @example
 * ```ts
 * import { handlePushMessages } from "@tidings/client/service-worker";
 *
 * handlePushMessages(self, { url: ({ chat }) => (chat ? `/chats/${chat}` : "/inbox") });
 * ```
 */
export function handlePushMessages(scope: PushWorkerScope, options: PushWorkerOptions = {}): void {
  scope.addEventListener("push", (event: ReceivedPush) => {
    const message = messageOf(event);
    if (message) event.waitUntil(receive(scope, message, options));
  });
  scope.addEventListener("notificationclick", (event: ClickedNotification) => {
    const { notification } = event;
    const data = (notification.data as { tidings?: PushData } | null)?.tidings;
    if (!data) return;
    notification.close();
    event.waitUntil(openUrl(scope, new URL(options.url?.(data) ?? "/", scope.location.href).href));
  });
}

function messageOf(event: ReceivedPush): PushMessage | undefined {
  try {
    const message = event.data?.json() as PushMessage | undefined;
    return message?.tidings?.action && message.tag ? message : undefined;
  } catch {
    return undefined;
  }
}

async function receive(
  scope: PushWorkerScope,
  message: PushMessage,
  options: PushWorkerOptions,
): Promise<void> {
  const { tag, tidings } = message;
  const shown = await scope.registration.getNotifications({ tag });
  // A push service may deliver messages in another order. An older one changes nothing.
  if (shown.some((each) => sequenceOf(each) > Number(tidings.sequence ?? 0))) return;
  if (tidings.action === "withdraw") for (const each of shown) each.close();
  else await show(scope, message, options);
  await setBadge(scope.navigator, message.badge);
}

async function show(scope: PushWorkerScope, message: PushMessage, options: PushWorkerOptions): Promise<void> {
  const { tag, title = "", body = "", renotify = false, silent = false, tidings } = message;
  const content = options.content ? await options.content(message) : title ? { title, body } : undefined;
  if (!content) return;
  const { title: shownTitle, ...more } = content;
  const wanted = { renotify, silent, ...more, tag, data: { tidings } };
  await scope.registration.showNotification(shownTitle, wanted);
}

function sequenceOf(notification: Notification): number {
  return Number((notification.data as { tidings?: PushData } | null)?.tidings?.sequence ?? 0);
}

async function setBadge(navigator: BadgeNavigator, count: number): Promise<void> {
  await (count ? navigator.setAppBadge?.(count) : navigator.clearAppBadge?.());
}

/** Focus the window that shows the address. Otherwise show it in an open window, or in a new one. */
async function openUrl(scope: PushWorkerScope, url: string): Promise<void> {
  const windows = await scope.clients.matchAll({ type: "window", includeUncontrolled: true });
  const found = windows.find((each) => each.url === url) ?? windows[0];
  try {
    if (!found) throw new Error("No window is open.");
    await found.focus();
    if (found.url !== url) await found.navigate(url);
  } catch {
    // A window that the worker does not control cannot be navigated.
    await scope.clients.openWindow(url);
  }
}
