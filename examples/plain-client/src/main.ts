import { Client, type Timeline } from "@tidings/client";

const query = new URLSearchParams(location.search);
const user = query.get("user") ?? "anna";

async function fetchToken(): Promise<string> {
  const response = await fetch(`/token?user=${encodeURIComponent(user)}`);
  if (!response.ok) throw new Error(`The token endpoint answered with ${response.status}.`);
  return (await response.json()).token;
}

const url = import.meta.env.VITE_TIDINGS_URL ?? "ws://127.0.0.1:8081/v1/socket";
const client = new Client({ url, token: fetchToken, user });

const status = document.getElementById("status") as HTMLElement;
client.connection.subscribe(() => {
  status.textContent = client.connection.get().state;
});

const list = document.getElementById("messages") as HTMLElement;
const composer = document.getElementById("composer") as HTMLFormElement;

function rowOf(timeline: Timeline, key: string): HTMLElement {
  const row = document.createElement("li");
  const item = timeline.item(key);
  const draw = () => {
    const { by = "", text = "", delivery } = item.get() ?? {};
    row.textContent = `${by}: ${text}${delivery === "pending" ? " (sending)" : ""}`;
  };
  item.subscribe(draw); // an edit, a reaction or a commit redraws this row only
  draw();
  return row;
}

function openChat(id: string): void {
  const chat = client.chat(id);
  const rows = new Map<string, HTMLElement>();
  chat.timeline.keys.subscribe(() => {
    const keys = chat.timeline.keys.get();
    for (const key of keys) if (!rows.has(key)) rows.set(key, rowOf(chat.timeline, key));
    list.replaceChildren(...keys.map((key) => rows.get(key) as HTMLElement));
  });
  void chat.timeline.loadNewest();
  composer.onsubmit = (event) => {
    event.preventDefault();
    chat.send(new FormData(composer).get("text") as string);
    composer.reset();
  };
}

// Open the chat of the address, or the newest one as soon as the list is loaded.
let opened = query.get("chat");
if (opened) openChat(opened);
client.chats.subscribe(() => {
  const newest = client.chats.get()[0];
  if (opened || !newest) return;
  opened = newest.chat;
  openChat(opened);
});
client.start();
