/** The parts of the client, one after the other: node tour.ts, in the directory of `tidings dev`. */

import { readFileSync } from "node:fs";
import { Attachments, Client, type UploadProgress } from "@tidings/client";

async function observe(client: Client, chat: string, show: () => void): Promise<void> {
  client.connection.get(); // { state: "live" }
  client.chats.get(); // rows: pinned chats first, then newest activity
  client.chats.row(chat).subscribe(show); // changes of this row only
  client.chats.unread.get(); // unread messages in all chats that are not muted

  const { timeline } = client.chat(chat);
  await timeline.loadNewest(); // shows stored messages first, also without a connection
  const keys = timeline.keys.get(); // oldest first; changes only if messages are added or removed
  for (const key of keys) timeline.item(key).get(); // { text, by, delivery: "pending" | "failed" | "committed", … }
  await timeline.loadOlder();
}

async function watch(client: Client, chat: string): Promise<void> {
  const unwatch = client.chat(chat).watch(); // receipts and typing, while the chat is on the screen
  const { sequence } = await client.chat(chat).send("Have you seen this?").outcome;
  client.chat(chat).status(sequence).get(); // "sent" | "delivered" | "read"
  client.chat(chat).setTyping(); // call it for every key
  const unwatchUsers = client.presence.watch(["ben"]);
  client.presence.of("ben").get(); // { user, status: "online" | "away" | "offline", … }
  unwatch();
  unwatchUsers();
}

async function readInbox(client: Client): Promise<void> {
  const inbox = client.inbox();
  const { unread } = await inbox.refresh(); // exact counts; `inbox.counts` follows them from now on
  const feed = inbox.feed({ is_unread: true });
  const close = feed.open(); // loads it, and follows changes until `close()`
  await feed.loadMore();
  const ids = feed.ids.get();
  for (const id of ids) feed.notification(id).get();
  await inbox.markRead(ids); // shown at once, undone if the server refuses it
  close();
  console.log(`${unread} unread before, ${inbox.counts.get()?.unread} after`);
}

async function sendFile(
  client: Client,
  chat: string,
  file: Blob,
  show: (progress: UploadProgress) => void,
): Promise<void> {
  const attachments = new Attachments(client); // the client has the option `api`: the address of the REST API
  const upload = attachments.upload(chat, file, { name: "plan.txt" });
  upload.progress.subscribe(() => show(upload.progress.get())); // { state: "uploading", sentBytes }
  upload.pause();
  upload.resume();
  const id = await upload.done; // a message can refer to the file
  const { outcome } = attachments.send(client.chat(chat), "The plan", [upload]);

  const { sequence } = await outcome;
  const { url } = await attachments.link(chat, sequence, id); // cached until it expires
  console.log(`received: ${await (await fetch(url)).text()}`);
}

const dev = JSON.parse(readFileSync(".tidings/dev/client.json", "utf8"));
const client = new Client({ url: dev.gateway, api: dev.api, user: "anna", token: dev.users.anna.token });
client.start();
await observe(client, dev.chats.direct, () => console.log("row changed"));
await watch(client, dev.chats.direct);
await readInbox(client);
await sendFile(client, dev.chats.direct, new Blob(["The plan"]), ({ state }) => console.log(state));
await client.close();
