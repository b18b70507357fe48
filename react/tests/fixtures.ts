import type { TimelineItem } from "@tidings/client";
import { chatRow, type FakeChat, FakeClient } from "./fake/fake_client.ts";
import { messageItem } from "./fake/fake_timeline.ts";

const START = Date.UTC(2026, 9, 1, 8, 0);

/** Return messages of various heights, one each 20 seconds. */
export function messages(count: number, offset = 0): TimelineItem[] {
  return Array.from({ length: count }, (_, index) => {
    const number = index + offset + 1;
    return messageItem({
      key: `#${number}`,
      by: number % 5 === 0 ? "carla" : "ben",
      at: START + number * 20_000,
      text: `${number}. ${"Some words of a message. ".repeat(1 + ((number * 7) % 9))}`,
    });
  });
}

/** Return a client with one open chat that shows the last `shown` of `count` messages. */
export function clientWithChat(count: number, shown = count): { client: FakeClient; chat: FakeChat } {
  const client = new FakeClient();
  client.chats.show([
    chatRow({ chat: "garden", name: "Garden", members: ["ben", "carla"], head: count, read: count }),
  ]);
  const chat = client.chat("garden");
  chat.timeline.open(messages(count), shown);
  return { client, chat };
}
