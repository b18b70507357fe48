import type { Notification, TimelineItem } from "@tidings/client";
import { chatRow, FakeClient } from "../tests/fake/fake_client.ts";
import { notification } from "../tests/fake/fake_inbox.ts";
import { entryOf, messageItem } from "../tests/fake/fake_timeline.ts";
import { type FixtureTexts, texts } from "./fixture_texts.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** The time of the last message: pictures do not depend on the time of day. */
const now = Math.min(new Date().setHours(14, 32, 0, 0), Date.now());

const ago = (days: number, minutes: number) => now - days * DAY_MS - minutes * MINUTE_MS;

/** A client with chats and notifications in a language. */
export function fixtureClient(language: string): FakeClient {
  const words = texts(language);
  const client = new FakeClient();
  client.user.set("anna");
  client.chats.show(rows(words));
  const team = client.chat("team");
  const log = teamLog(words);
  team.timeline.open(log);
  team.members.set(["anna", "ben", "carla", "dilan"]);
  team.typing.set(["carla"]);
  for (let sequence = 1; sequence <= log.length; sequence += 1) {
    team.status(sequence).set(sequence < 14 ? "read" : "delivered");
  }
  team.timeline.queue(own({ key: "failed", at: ago(0, 1), text: words.failed, delivery: "failed" }));
  team.timeline.queue(own({ key: "pending", at: ago(0, 0), text: words.pending, delivery: "pending" }));
  client.chat("ben").timeline.open(directLog(words));
  client.presence.of("ben").set({ user: "ben", status: "online" });
  client.presence.of("dilan").set({ user: "dilan", status: "away" });
  client.inbox().show(notifications(words));
  return client;
}

function own(fields: Partial<TimelineItem> & { key: string }): TimelineItem {
  return messageItem({ by: "anna", isOwn: true, ...fields });
}

function rows(words: FixtureTexts) {
  const preview = (index: number) => words.previews[index] ?? "";
  return [
    chatRow({
      chat: "team",
      name: words.team,
      members: ["ben", "carla", "dilan"],
      unread: 3,
      read: 9,
      at: ago(0, 0),
      by: "carla",
      preview: preview(0),
      is_pinned: true,
    }),
    chatRow({ chat: "ben", members: ["ben"], at: ago(0, 12), by: "ben", preview: preview(1), unread: 1 }),
    chatRow({ chat: "dilan", members: ["dilan"], at: ago(0, 95), by: "anna", preview: preview(2) }),
    chatRow({
      chat: "book",
      name: words.club,
      members: ["carla", "emil"],
      at: ago(1, 40),
      by: "emil",
      preview: preview(3),
      unread: 128,
      is_muted: true,
    }),
    chatRow({ chat: "emil", members: ["emil"], at: ago(3, 5), by: "emil", state: "redacted" }),
    chatRow({ chat: "trip", members: ["ben", "fatima"], at: ago(24, 5), by: "fatima", preview: preview(4) }),
  ];
}

const line = (words: FixtureTexts, index: number) => words.lines[index] ?? "";

function teamLog(words: FixtureTexts): TimelineItem[] {
  return [...yesterdaysLog(words), ...todaysLog(words)];
}

function yesterdaysLog(words: FixtureTexts): TimelineItem[] {
  const at = ago(1, 200);
  const users = ["anna", "ben", "dilan"];
  const reactions = [
    { emoji: "👍", count: 2, users: ["anna", "carla"] },
    { emoji: "🎉", count: 1, users: ["dilan"] },
  ];
  return [
    messageItem({ key: "s1", kind: "create", by: "carla", at: at - 20 * MINUTE_MS, text: "" }),
    messageItem({
      key: "s2",
      kind: "join",
      by: "carla",
      at: at - 19 * MINUTE_MS,
      text: "",
      entry: entryOf({ users }),
    }),
    messageItem({ key: "m1", by: "carla", at, text: line(words, 0) }),
    messageItem({ key: "m2", by: "carla", at: at + 20_000, text: line(words, 1) }),
    own({ key: "m3", at: at + 3 * MINUTE_MS, text: line(words, 2) }),
    messageItem({ key: "m4", by: "ben", at: at + 5 * MINUTE_MS, text: line(words, 3), reactions }),
  ];
}

function todaysLog(words: FixtureTexts): TimelineItem[] {
  const at = ago(0, 64);
  const edited = { state: "edited", edited_at: at + 2 * MINUTE_MS };
  const later = at + 31 * MINUTE_MS;
  const reactions = [{ emoji: "❤️", count: 3, users: ["carla", "dilan", "emil"] }];
  return [
    messageItem({ key: "m5", by: "dilan", at, text: line(words, 4), reply_to: 3 }),
    own({ key: "m6", at: at + MINUTE_MS, text: line(words, 5), ...edited }),
    own({ key: "m7", at: at + MINUTE_MS + 10_000, text: "🎂🎉" }),
    messageItem({ key: "m8", by: "ben", at: at + 30 * MINUTE_MS, text: "", state: "redacted" }),
    messageItem({ key: "m9", by: "ben", at: later, text: line(words, 6) }),
    messageItem({ key: "m10", by: "ben", at: later + 15_000, text: line(words, 7), reactions }),
    own({ key: "m11", at: at + 40 * MINUTE_MS, text: line(words, 8), reply_to: 11 }),
    own({ key: "m12", at: at + 50 * MINUTE_MS, text: line(words, 9) }),
  ];
}

function directLog(words: FixtureTexts): TimelineItem[] {
  return words.direct.map((text, index) => {
    const fields = { key: `d${index}`, at: ago(0, 30) + index * 2 * MINUTE_MS, text };
    return index % 3 === 1 ? own(fields) : messageItem({ ...fields, by: "ben" });
  });
}

function notifications(words: FixtureTexts): Notification[] {
  return words.notifications.map(([title, body, category], index) =>
    notification({
      id: `n${index}`,
      at: Date.now() - ([2, 38, 190, 26 * 60, 51 * 60, 12 * 24 * 60][index] ?? 20 * 24 * 60) * MINUTE_MS,
      message: body ? { title, body, url: "#" } : { title },
      category,
      is_read: index > 2,
      is_seen: true,
    }),
  );
}
