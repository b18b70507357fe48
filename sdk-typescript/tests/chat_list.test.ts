/** The chat list is updated by entries and watermarks. */
import { expect, test } from "vitest";
import { ChatList } from "../src/chat_list.ts";
import { decodeStruct } from "../src/codec.ts";
import type { ChatRow, Entry } from "../src/frames.gen.ts";
import { seeded } from "./clients.ts";

const entry = (fields: object): Entry => decodeStruct("Entry", { by: "ben", at: 1, ...fields });
const message = (sequence: number, by = "ben", text = "hi"): Entry =>
  entry({ sequence, by, at: sequence, text });
const rowOf = (chats: ChatList): ChatRow | undefined => chats.row("g1").get();

function listed(row: object = {}): ChatList {
  const chats = new ChatList();
  chats.applyRow(decodeStruct("ChatRow", { chat: "g1", head: 10, ...row }));
  return chats;
}

test("a message of another user raises unread and sets the preview", () => {
  const chats = listed({ unread: 2, read: 3, name: "us" });
  chats.applyEntries("g1", [message(11), message(12, "ben", "see you")], "anna");
  expect(rowOf(chats)).toMatchObject({
    unread: 4,
    head: 12,
    preview: "see you",
    by: "ben",
    at: 12,
    name: "us",
  });
});

test("sending a message marks earlier ones as read", () => {
  const chats = listed({ unread: 2 });
  chats.applyEntries("g1", [message(11), message(12, "anna"), message(13)], "anna");
  expect(rowOf(chats)).toMatchObject({ unread: 1, read: 12 });
});

test("a late row of the server does not move the read position below the user's own message", () => {
  const chats = listed({ read: 3 });
  chats.applyEntries("g1", [message(11, "anna")], "anna");
  chats.applyRow(decodeStruct("ChatRow", { chat: "g1", head: 11, read: 3 }));
  expect(rowOf(chats)).toMatchObject({ read: 11 });
  expect(chats.read("g1", 11), "another device of the user reports what the message implies").toBe(false);
});

test("messages after the read position stay unread", () => {
  const chats = listed({ unread: 2, read: 8 });
  chats.applyEntries(
    "g1",
    [11, 12, 13, 14].map((n) => message(n)),
    "anna",
  );
  expect(chats.read("g1", 9)).toBe(true);
  expect(rowOf(chats)?.unread, "the messages below the row's head are not known").toBe(6);
  expect(chats.read("g1", 12)).toBe(true);
  expect(rowOf(chats)?.unread).toBe(2);
  expect(chats.read("g1", 11)).toBe(false);
  expect(chats.read("g1", 14)).toBe(true);
  expect(rowOf(chats)?.unread).toBe(0);
});

test("edits and redactions change the preview", () => {
  const chats = listed({ preview: "hi", last: 10 });
  chats.applyEntries(
    "g1",
    [entry({ sequence: 11, kind: "edit", refers_to: 10, changed: { text: "hello" } })],
    "anna",
  );
  expect(rowOf(chats)?.preview).toBe("hello");
  chats.applyEntries(
    "g1",
    [entry({ sequence: 12, kind: "redaction", refers_to: 10, changed: { state: "redacted" } })],
    "anna",
  );
  expect(rowOf(chats)).toMatchObject({ state: "redacted", last: 10, head: 12 });
  expect(rowOf(chats)).not.toHaveProperty("preview");
  chats.applyRow(decodeStruct("ChatRow", { chat: "g1", head: 10, preview: "hi", last: 10, name: "us" }));
  expect(rowOf(chats)).toMatchObject({ state: "redacted", name: "us" });
  expect(rowOf(chats)).not.toHaveProperty("preview");
});

test("the preview of a message without text is the name of its first file", () => {
  const chats = listed({ preview: "hi", last: 10 });
  const files = (sequence: number, attachments: string[], data: object) =>
    entry({ sequence, attachments, data });
  chats.applyEntries("g1", [files(11, ["u1"], { attachments: { u1: { name: "beach.jpg" } } })], "anna");
  expect(rowOf(chats)?.preview).toBe("📎 beach.jpg");
  chats.applyEntries("g1", [files(12, ["u1", "u2", "u3"], { attachments: { u1: { name: 7 } } })], "anna");
  expect(rowOf(chats)?.preview).toBe("📎 +2");
});

test("a row has no preview of an expiring message", () => {
  const chats = listed({ preview: "hi", last: 10 });
  chats.applyEntries("g1", [entry({ sequence: 11, text: "secret", expires_at: 99 })], "anna");
  expect(rowOf(chats)).toMatchObject({ state: "ephemeral" });
  expect(rowOf(chats)).not.toHaveProperty("preview");
});

test("a late row does not undo later entries", () => {
  const chats = listed({ head: 10 });
  chats.applyEntries("g1", [message(11)], "anna");
  chats.applyRow(decodeStruct("ChatRow", { chat: "g1", head: 10, name: "us", is_muted: true }));
  expect(rowOf(chats)).toMatchObject({ head: 11, unread: 1, name: "us", is_muted: true });
});

test("a row is created from the entries of an unknown chat, and removed by a leave", () => {
  const chats = new ChatList();
  chats.applyEntries(
    "g1",
    [entry({ sequence: 1, at: 7, kind: "create", name: "us", users: ["anna", "ben", "cleo"] })],
    "anna",
  );
  expect(rowOf(chats)).toMatchObject({ name: "us", members: ["ben", "cleo"], unread: 0 });
  chats.applyEntries("g2", [entry({ sequence: 8, at: 9, kind: "join", users: ["anna"] })], "anna");
  expect(chats.row("g2").get()).toMatchObject({ members: ["ben"] });
  chats.applyEntries("g2", [entry({ sequence: 9, kind: "rename", name: "them" })], "anna");
  expect(chats.get().map(({ name }) => name)).toEqual(["them", "us"]);
  chats.applyEntries("g2", [entry({ sequence: 10, kind: "leave", users: ["anna"] })], "anna");
  expect(chats.get().map(({ name }) => name)).toEqual(["us"]);
});

test("pinned chats come first, then the newest", () => {
  const chats = new ChatList();
  for (const [chat, at] of [
    ["a", 1],
    ["b", 3],
    ["c", 2],
  ])
    chats.applyRow(decodeStruct("ChatRow", { chat, head: 1, at }));
  chats.applyRow(decodeStruct("ChatRow", { chat: "a", head: 1, at: 1, is_pinned: true }));
  expect(chats.get().map(({ chat }) => chat)).toEqual(["a", "b", "c"]);
});

test.each(Array.from({ length: 60 }, (_, seed) => seed))(
  "unread equals the messages above the read position (seed %i)",
  (seed) => {
    const random = seeded(seed);
    const chats = listed({ head: 0 });
    const log: string[] = [];
    let read = 0;
    for (const what of random.list(60, () => random.pick(["ben", "anna", "read", "join"]))) {
      if (what !== "read") {
        log.push(what);
        chats.applyEntries(
          "g1",
          [entry({ sequence: log.length, by: what, kind: what === "join" ? "join" : "message" })],
          "anna",
        );
      } else if (log.length) {
        read = Math.max(read, log.length - random.below(6));
        chats.read("g1", read);
      }
      const seen = Math.max(read, log.lastIndexOf("anna") + 1);
      const unread = log.filter((by, index) => by === "ben" && index + 1 > seen).length;
      if (log.length) expect(rowOf(chats)).toMatchObject({ unread, read: seen });
    }
  },
);
