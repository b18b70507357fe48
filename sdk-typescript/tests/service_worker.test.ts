/** A service worker shows, replaces and withdraws notifications, sets the badge, and opens the app. */
import { expect, test } from "vitest";
import { handlePushMessages, type PushWorkerOptions, type PushWorkerScope } from "../src/service_worker.ts";

interface Shown {
  title: string;
  tag: string;
  data: { tidings?: { sequence: string } };
  renotify?: boolean;
  silent?: boolean;
  body?: string;
  icon?: string;
}

class Window {
  url: string;
  isFocused = false;
  isControlled: boolean;

  constructor(url: string, isControlled = true) {
    this.url = url;
    this.isControlled = isControlled;
  }

  async focus() {
    this.isFocused = true;
  }

  async navigate(url: string) {
    if (!this.isControlled) throw new TypeError("not controlled");
    this.url = url;
  }
}

/** A scope that keeps one notification for each tag, as browsers do. */
class Worker {
  shown = new Map<string, Shown>();
  badges: number[] = [];
  windows: Window[] = [];
  opened: string[] = [];
  readonly #listeners = new Map<string, (event: unknown) => void>();

  constructor(options?: PushWorkerOptions) {
    const scope = {
      location: { href: "https://app.example.com/worker.js" },
      navigator: {
        setAppBadge: async (count: number) => void this.badges.push(count),
        clearAppBadge: async () => void this.badges.push(0),
      },
      clients: {
        matchAll: async () => this.windows,
        openWindow: async (url: string) => void this.opened.push(url),
      },
      registration: {
        showNotification: async (title: string, more: Omit<Shown, "title">) =>
          void this.shown.set(more.tag, { title, ...more }),
        getNotifications: async ({ tag }: { tag: string }) => {
          const found = this.shown.get(tag);
          return found ? [{ ...found, close: () => this.shown.delete(tag) }] : [];
        },
      },
      addEventListener: (type: string, listener: (event: unknown) => void) =>
        this.#listeners.set(type, listener),
    };
    handlePushMessages(scope as unknown as PushWorkerScope, options);
  }

  async push(data: unknown) {
    await this.#dispatch("push", { data: { json: () => data } });
  }

  async click(tag: string) {
    const notification = { ...this.shown.get(tag), close: () => this.shown.delete(tag) };
    await this.#dispatch("notificationclick", { notification });
  }

  async #dispatch(type: string, event: object) {
    const work: Promise<unknown>[] = [];
    this.#listeners.get(type)?.({ ...event, waitUntil: (each: Promise<unknown>) => work.push(each) });
    await Promise.all(work);
  }
}

const message = (sequence: number, action = "alert", badge = sequence) => ({
  tidings: { chat: "c1", message_id: `c1.${sequence}`, sequence: `${sequence}`, badge: `${badge}`, action },
  tag: "c1",
  badge,
  ...(action === "withdraw"
    ? {}
    : { title: "Ben", body: `m${sequence}`, renotify: action === "alert", silent: action !== "alert" }),
});

test("a newer message replaces the notification, and a silent one makes no sound", async () => {
  const worker = new Worker();
  await worker.push(message(2));
  expect(worker.shown.get("c1")).toMatchObject({ title: "Ben", body: "m2", renotify: true, silent: false });
  await worker.push(message(3, "update"));
  expect([...worker.shown.values()]).toMatchObject([{ body: "m3", renotify: false, silent: true }]);
  expect(worker.badges).toEqual([2, 3]);
});

test("a notification of an inbox is shown, and replaces itself if it arrives twice", async () => {
  const worker = new Worker();
  const tidings = { inbox: "default", notification_id: "n1", badge: "1", action: "alert" };
  for (let count = 0; count < 2; count++)
    await worker.push({ tidings, tag: "n1", badge: 1, title: "Goal!", body: "1:0", renotify: true });
  expect([...worker.shown.values()]).toMatchObject([{ title: "Goal!", body: "1:0", data: { tidings } }]);
});

test("a read on another device withdraws the notification and clears the badge", async () => {
  const worker = new Worker();
  await worker.push(message(2));
  await worker.push(message(2, "withdraw", 0));
  expect(worker.shown.size).toBe(0);
  expect(worker.badges).toEqual([2, 0]);
});

test("a message or a withdrawal that arrives late changes nothing", async () => {
  const worker = new Worker();
  await worker.push(message(5));
  await worker.push(message(4));
  await worker.push(message(4, "withdraw", 0));
  expect(worker.shown.get("c1")?.body).toBe("m5");
  expect(worker.badges).toEqual([5]);
});

test("the app chooses the content, also of messages without a title", async () => {
  const worker = new Worker({
    content: async ({ tidings }) =>
      tidings.sequence === "3" ? undefined : { title: "Decrypted", icon: "/icon.png" },
  });
  const { title: _, body: __, ...dataOnly } = message(2);
  await worker.push(dataOnly);
  expect(worker.shown.get("c1")).toMatchObject({ title: "Decrypted", icon: "/icon.png", tag: "c1" });
  await worker.push({ ...dataOnly, tidings: { ...dataOnly.tidings, sequence: "3" } });
  expect(worker.shown.get("c1")?.data.tidings?.sequence).toBe("2");
  const plain = new Worker();
  await plain.push(dataOnly);
  expect(plain.shown.size).toBe(0);
});

test("a click focuses the window of the chat, navigates another one, or opens one", async () => {
  const url = "https://app.example.com/chats/c1";
  const worker = new Worker({ url: ({ chat }) => `/chats/${chat}` });
  const click = async (...windows: Window[]) => {
    worker.windows = windows;
    await worker.push(message(2));
    await worker.click("c1");
    expect(worker.shown.size).toBe(0);
  };
  const [other, same] = [new Window("https://app.example.com/"), new Window(url)];
  await click(other, same);
  expect([other.isFocused, same.isFocused]).toEqual([false, true]);
  await click(other);
  expect([other.isFocused, other.url]).toEqual([true, url]);
  expect(worker.opened).toEqual([]);
  await click();
  await click(new Window("https://app.example.com/", false));
  expect(worker.opened).toEqual([url, url]);
});

test("messages of other senders are left alone", async () => {
  const worker = new Worker();
  for (const data of [undefined, "text", { title: "Other" }, { tidings: {} }]) await worker.push(data);
  worker.shown.set("other", { title: "Other", tag: "other", data: {} });
  await worker.click("other");
  expect(worker.shown.size).toBe(1);
  expect(worker.opened).toEqual([]);
});
