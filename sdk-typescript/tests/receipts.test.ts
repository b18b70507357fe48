/** Delivery status from receipts and the log alone, and typing. The parity test compares random runs with Python. */
import { expect, test } from "vitest";
import { decodeStruct } from "../src/codec.ts";
import type { Entry, Receipts } from "../src/frames.gen.ts";
import { ChatReceipts } from "../src/receipts.ts";
import { ENDS_AFTER_MS, TYPING_EVERY_MS, TypingSender, TypingUsers } from "../src/typing_state.ts";

const receipts = (members: object[], is_snapshot = false): Receipts =>
  decodeStruct("Receipts", { chat: "g1", members, is_snapshot });
const entry = (sequence: number, kind = "message", by = "anna", ...users: string[]): Entry =>
  decodeStruct("Entry", { sequence, by, at: 1, kind, users });

function chatOf(...users: string[]): ChatReceipts {
  const chat = new ChatReceipts();
  chat.applyReceipts(
    receipts(
      users.map((user) => ({ user, since: 1 })),
      true,
    ),
  );
  return chat;
}

test("a message is read when all members have read it", () => {
  const chat = chatOf("anna", "ben", "cleo");
  const status = (sequence: number) => chat.status(sequence, "anna").status;
  expect(status(5)).toBe("sent");
  chat.applyReceipts(
    receipts([
      { user: "ben", delivered: 5 },
      { user: "cleo", delivered: 7 },
    ]),
  );
  expect(status(5)).toBe("delivered");
  chat.applyReceipts(receipts([{ user: "ben", read: 5 }]));
  expect(chat.status(5, "anna")).toMatchObject({ status: "delivered", read_by: ["ben"] });
  chat.applyReceipts(receipts([{ user: "cleo", read: 6 }]));
  expect([status(5), status(6)]).toEqual(["read", "sent"]);
});

test("watermarks never move back even with a late snapshot", () => {
  const chat = chatOf("anna", "ben");
  chat.applyReceipts(receipts([{ user: "ben", delivered: 9, read: 9 }]));
  expect(chat.applyReceipts(receipts([{ user: "ben", delivered: 3, read: 2 }]))).toBe(false);
  expect(
    chat.applyReceipts(
      receipts(
        [
          { user: "anna", since: 1 },
          { user: "ben", since: 1, read: 4 },
        ],
        true,
      ),
    ),
  ).toBe(false);
  expect(chat.status(9, "anna").status).toBe("read");
});

test("members who left or joined later do not delay the status", () => {
  const chat = chatOf("anna", "ben", "cleo");
  const status = (sequence: number) => chat.status(sequence, "anna").status;
  chat.applyReceipts(receipts([{ user: "ben", read: 5 }]));
  expect(status(5)).toBe("sent");
  expect(chat.saw(entry(6, "leave", "cleo", "cleo"))).toBe(true);
  expect(status(5)).toBe("read");
  expect(chat.saw(entry(7, "join", "anna", "dora"))).toBe(true);
  expect([status(5), status(8)]).toEqual(["read", "sent"]);
  expect(chat.members).toEqual(["anna", "ben", "dora"]);
});

test("a user absent from the snapshot is not a member", () => {
  const chat = chatOf("anna", "ben", "cleo");
  expect(
    chat.applyReceipts(
      receipts(
        [
          { user: "anna", since: 1 },
          { user: "ben", since: 1, read: 5 },
        ],
        true,
      ),
    ),
  ).toBe(true);
  expect(chat.status(5, "anna").status).toBe("read");
});

test("there is no status before the first snapshot, and none of a chat with one member", () => {
  const chat = new ChatReceipts();
  expect(chat.saw(entry(3, "message", "ben"))).toBe(false);
  expect(chat.status(2, "anna")).toMatchObject({ status: "sent", has_receipts: false });
  expect(chatOf("anna").status(5, "anna").status).toBe("sent");
});

test("typing ends after some seconds without a repeat, or with a stop", () => {
  const typists = new TypingUsers();
  expect(typists.onTyping("g1", "ben", 0)).toBe(true);
  expect(typists.onTyping("g1", "ben", 4_000)).toBe(false);
  expect(typists.dueAt).toBe(4_000 + ENDS_AFTER_MS);
  expect(typists.endThoseDue(9_900)).toEqual([]);
  expect(typists.endThoseDue(10_000)).toEqual(["g1"]);
  expect([typists.of("g1"), typists.dueAt]).toEqual([[], Infinity]);
  typists.onTyping("g1", "ben", 0);
  typists.onTyping("g2", "ben", 0);
  expect([typists.stopped("g1", "ben"), typists.stopped("g1", "ben")]).toEqual([true, false]);
  expect([typists.of("g1"), typists.of("g2")]).toEqual([[], ["ben"]]);
});

test("own typing is sent every few seconds only, and its end while others see it", () => {
  const own = new TypingSender();
  let sent = 0;
  for (let tenth = 0; tenth < 100; tenth++) sent += own.begins("g1", tenth * 100).length;
  expect(sent).toBe(1 + Math.floor(9_900 / TYPING_EVERY_MS));
  expect(own.ends("g2", 0)).toEqual([]);
  own.begins("g2", 1_000);
  expect(own.ends("g2", 2_000)).toEqual([false]);
  expect(own.ends("g2", 2_100)).toEqual([]);
  expect(own.begins("g2", 2_200)).toEqual([true]);
  expect(own.ends("g2", 3_000 + ENDS_AFTER_MS)).toEqual([]);
});

test("typing after a message is forwarded again", () => {
  const own = new TypingSender();
  own.begins("g1", 0);
  own.sent("g1");
  expect(own.ends("g1", 400)).toEqual([]);
  expect(own.begins("g1", 500)).toEqual([false, true]);
  expect(own.begins("g1", 600)).toEqual([]);
  own.sent("g1");
  expect(own.begins("g1", 5_000)).toEqual([true]);
});
