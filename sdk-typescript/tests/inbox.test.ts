/** Counts of an inbox only move forward, feeds follow changes, and marks are shown at once. */
import { beforeEach, expect, test, vi } from "vitest";
import type { Client, InboxCounts } from "../src/index.ts";
import { clientOf, live, until } from "./clients.ts";
import { ScriptedInbox } from "./scripted_inbox.ts";
import { error, ScriptedServer } from "./scripted_server.ts";

let server: ScriptedServer;
let scripted: ScriptedInbox;
let client: Client;

beforeEach(async () => {
  server = new ScriptedServer();
  scripted = new ScriptedInbox(server);
  client = clientOf(server);
  await live(client);
});

const of = (version: number, at = 1): InboxCounts => ({
  inbox: "default",
  version,
  at,
  unread: 0,
  unseen: 0,
  categories: {},
  broadcasts_up_to: 0,
});

test.each([
  [of(2), of(1, 9), of(2)],
  [of(2), of(3, 0), of(3, 0)],
  [of(2, 5), of(2, 4), of(2, 5)],
  [of(2, 5), of(2, 6), of(2, 6)],
])("older counts never replace newer ones", (first, then, kept) => {
  const inbox = client.inbox();
  inbox.onCounts(first);
  inbox.onCounts(then);
  expect(inbox.counts.get()).toEqual(kept);
});

test("marking no notifications marks nothing", async () => {
  // The server takes `read` without ids as all notifications.
  const inbox = client.inbox();
  for (const counts of [
    await inbox.markRead([]),
    await inbox.markUnread([]),
    await inbox.archive([]),
    await inbox.restore([]),
  ])
    expect(counts.unread).toBe(0);
  expect(server.tries("mark")).toEqual([]);
  expect(server.tries("counts")).toHaveLength(1);
});

test("a new connection requests the counts of used inboxes", async () => {
  await client.inbox().refresh();
  client.inbox("other");
  scripted.put();
  server.cut();
  await until(() => client.inbox().counts.get()?.unread === 1);
  expect(server.tries("counts").map(({ inbox }) => inbox)).toEqual(["default", "default"]);
});

test("a request refused temporarily is retried", async () => {
  await client.inbox().refresh();
  let refusals = 1;
  server.answers.counts = () =>
    refusals-- > 0 ? error("overloaded", { retryable: true }) : { ok: scripted.counts };
  scripted.put();
  server.cut();
  await until(() => client.inbox().counts.get()?.unread === 1);
});

test("a feed loads, follows changes, and loads more", async () => {
  for (let n = 0; n < 50; n++) scripted.put();
  const feed = client.inbox().feed();
  expect(client.inbox().feed({})).toBe(feed);
  expect(feed.range.get()).toEqual({ isLoaded: false, hasMore: false, isLoading: false });
  const close = feed.open();
  await until(() => feed.range.get().isLoaded);
  expect([feed.ids.get().length, feed.range.get().hasMore]).toEqual([20, true]);
  await feed.loadMore();
  expect(feed.ids.get()).toHaveLength(40);
  const added = scripted.give();
  await until(() => feed.ids.get()[0] === added.id);
  expect(client.inbox().counts.get()?.unread).toBe(51);
  expect(feed.notification(added.id).get()?.message).toEqual({ text: added.id });
  await feed.loadMore();
  expect(feed.ids.get()).toHaveLength(51);
  expect(feed.range.get().hasMore).toBe(false);
  close();
});

test("marks are shown at once and undone if the server refuses them", async () => {
  const { id } = scripted.put();
  const [all, unread] = [client.inbox().feed(), client.inbox().feed({ is_unread: true })];
  all.open();
  unread.open();
  await until(() => all.ids.get().length && unread.ids.get().length);
  server.answers.mark = () => error("forbidden");
  const marking = client.inbox().markRead([id]);
  expect([all.notification(id).get()?.is_read, all.ids.get().length, unread.ids.get().length]).toEqual([
    true,
    1,
    0,
  ]);
  await expect(marking).rejects.toMatchObject({ code: "forbidden" });
  expect([all.notification(id).get()?.is_read, unread.ids.get().length]).toEqual([false, 1]);
  new ScriptedInbox(server).notifications.set(id, scripted.notifications.get(id) ?? {});
  expect((await client.inbox().archive([id])).unread).toBe(0);
  expect(all.ids.get()).toEqual([]);
});

test("mark all marks one category up to a time", async () => {
  const [news, later, other] = [
    scripted.put({ category: "news" }),
    scripted.put({ category: "news", delivered_at: 9 }),
    scripted.put(),
  ];
  const feed = client.inbox().feed();
  feed.open();
  await until(() => feed.ids.get().length === 3);
  const marking = client.inbox().markAllRead({ before: 5, category: "news" });
  const isRead = (each: { id?: string }) => feed.notification(each.id ?? "").get()?.is_read;
  expect([isRead(news), isRead(later), isRead(other)]).toEqual([true, false, false]);
  expect((await marking).unread).toBe(2);
  expect(server.tries("mark")).toEqual([{ inbox: "default", to: "read", before: 5, category: "news" }]);
  await client.inbox().markSeen();
  expect(server.tries("mark").at(-1)).toMatchObject({ to: "seen" });
});

test("a page that was requested before a mark does not undo it", async () => {
  const { id } = scripted.put();
  const feed = client.inbox().feed();
  feed.open();
  await until(() => feed.ids.get().length);
  const { notifications: read } = server.answers;
  if (!read) throw new Error("the script has no answer");
  const isRead: unknown[] = [];
  feed.notification(id).subscribe(() => isRead.push(feed.notification(id).get()?.is_read));
  server.answers.notifications = (request) => {
    const answer = read(request); // the state before the mark
    server.answers.notifications = read;
    void client.inbox().markRead([id]);
    return answer;
  };
  server.cut();
  await until(() => isRead.length && !feed.range.get().isLoading);
  expect(isRead).not.toContain(false);
  expect(feed.notification(id).get()?.is_read).toBe(true);
});

test("a page that was requested before an amendment and a recall does not undo them", async () => {
  const [amended, recalled] = [scripted.put(), scripted.put()];
  const feed = client.inbox().feed();
  feed.open();
  await until(() => feed.ids.get().length === 2);
  const { notifications: read } = server.answers;
  if (!read) throw new Error("the script has no answer");
  let isAnswered = false;
  server.answers.notifications = (request) => {
    const answer = structuredClone(read(request)); // the state before the changes
    server.answers.notifications = read;
    scripted.amend(amended.id);
    scripted.recall(recalled.id);
    isAnswered = true;
    return answer;
  };
  server.cut();
  await until(() => isAnswered && !feed.range.get().isLoading);
  expect(feed.notification(amended.id).get()).toMatchObject({ version: 2, message: { text: "amended" } });
  expect(feed.ids.get()).toEqual([amended.id]);
});

test("a mark on another device is read again", async () => {
  const { id } = scripted.put();
  const feed = client.inbox().feed();
  feed.open();
  await until(() => feed.ids.get().length);
  scripted.markElsewhere(id);
  await until(() => feed.notification(id).get()?.is_read);
  expect(client.inbox().counts.get()?.unread).toBe(0);
});

test("a broadcast arrives live, is counted, and disappears when it is recalled", async () => {
  const feed = client.inbox().feed();
  feed.open();
  await until(() => feed.range.get().isLoaded);
  const { id } = scripted.broadcast();
  await until(() => client.inbox().counts.get()?.unread === 1 && feed.ids.get().length === 1);
  expect(server.tries("counts").at(-1)).toMatchObject({ at_least: 1 });
  await client.inbox().markRead([id]);
  scripted.amend(id);
  await until(() => feed.notification(id).get()?.version === 2);
  expect(feed.notification(id).get()?.is_read, "a push has not the user's own state").toBe(true);
  scripted.recall(id);
  await until(() => !feed.ids.get().length);
  await until(() => client.inbox().counts.get()?.broadcasts_up_to === 3);
});

test("after a restore any counts are newer, and at_least is reset", async () => {
  await client.inbox().refresh();
  client.inbox().onCounts({ ...of(90, 90), broadcasts_up_to: 8 });
  server.epoch = 1;
  server.cut();
  await until(() => client.inbox().counts.get()?.version === 1);
  expect(server.tries("counts").at(-1)).toEqual({ inbox: "default" });
});

test("the counts are requested again when a notification expires", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    scripted.nextChangeAt = 60_000;
    await client.inbox().refresh();
    const asked = server.tries("counts").length;
    vi.advanceTimersByTime(59_000);
    expect(server.tries("counts")).toHaveLength(asked);
    vi.advanceTimersByTime(2_000);
    await vi.waitUntil(() => server.tries("counts").length === asked + 1);
  } finally {
    vi.useRealTimers();
  }
});

test("a closed feed is read again when it is opened", async () => {
  const feed = client.inbox().feed();
  feed.open()();
  await until(() => feed.range.get().isLoaded);
  const asked = server.tries("notifications").length;
  const { id } = scripted.put();
  server.cut();
  await until(() => server.hellos.length === 2);
  await live(client);
  expect(server.tries("notifications")).toHaveLength(asked);
  feed.open();
  await until(() => feed.ids.get().includes(id));
});

test("preferences are read and changed, and a change reads the feeds again", async () => {
  const inbox = client.inbox();
  const feed = inbox.feed();
  feed.open();
  await until(() => feed.range.get().isLoaded);
  expect((await inbox.preferences()).channels).toEqual({ inbox: true });
  const before = server.tries("notifications").length;
  const changes = { channels: { push: false }, categories: { news: { email: null } } };
  const changed = await inbox.changePreferences(changes);
  expect(changed).toMatchObject({ channels: { inbox: true, push: false }, chosen: {}, categories: [] });
  expect(server.tries("preferences").at(-1)).toEqual({ inbox: "default", ...changes });
  await until(() => server.tries("notifications").length > before);
});
