import type {
  ChatRow,
  Client,
  ConnectionStatus,
  MessageStatus,
  Presence,
  QueuedSend,
  TimelineItem,
} from "@tidings/client";
import { ObservableValue } from "../../src/observable_value.ts";
import { FakeInbox } from "./fake_inbox.ts";
import { FakeTimeline, messageItem } from "./fake_timeline.ts";

export function chatRow(fields: Partial<ChatRow> & { chat: string }): ChatRow {
  return {
    head: 0,
    unread: 0,
    read: 0,
    members: [],
    last: 0,
    state: "active",
    is_muted: false,
    is_pinned: false,
    is_archived: false,
    ...fields,
  };
}

class FakeChatList extends ObservableValue<readonly ChatRow[]> {
  readonly unread = new ObservableValue(0);
  readonly isLoaded = new ObservableValue(false);
  private readonly rows = new Map<string, ObservableValue<ChatRow | undefined>>();

  constructor() {
    super([]);
  }

  row(chat: string): ObservableValue<ChatRow | undefined> {
    let row = this.rows.get(chat);
    if (!row) {
      row = new ObservableValue<ChatRow | undefined>(undefined);
      this.rows.set(chat, row);
    }
    return row;
  }

  /** Replace the rows. Only rows that differ notify. */
  show(rows: readonly ChatRow[]): void {
    for (const row of rows) this.row(row.chat).set(row);
    this.isLoaded.set(true);
    this.unread.set(rows.reduce((sum, row) => sum + (row.is_muted ? 0 : row.unread), 0));
    this.set(rows);
  }
}

export class FakeChat {
  readonly id: string;
  readonly row: ObservableValue<ChatRow | undefined>;
  readonly timeline = new FakeTimeline();
  readonly typing = new ObservableValue<readonly string[]>([]);
  readonly members = new ObservableValue<readonly string[]>([]);
  readonly calls: unknown[][] = [];
  watchers = 0;
  private readonly client: FakeClient;
  private readonly statuses = new Map<number, ObservableValue<MessageStatus>>();
  private queued = 0;

  constructor(client: FakeClient, id: string) {
    this.client = client;
    this.id = id;
    this.row = client.chats.row(id);
  }

  watch(): () => void {
    this.watchers += 1;
    return () => {
      this.watchers -= 1;
    };
  }

  status(sequence: number): ObservableValue<MessageStatus> {
    let status = this.statuses.get(sequence);
    if (!status) {
      status = new ObservableValue<MessageStatus>("sent");
      this.statuses.set(sequence, status);
    }
    return status;
  }

  send(text: string, options: Partial<TimelineItem> = {}): QueuedSend {
    this.calls.push(["send", text, options]);
    this.queued += 1;
    const key = `own-${this.id}-${this.queued}`;
    const by = this.client.user.get() ?? "";
    const at = Date.now();
    this.timeline.queue(messageItem({ key, by, at, isOwn: true, text, delivery: "pending", ...options }));
    return queuedSend(key);
  }

  edit(sequence: number, text: string, options: object = {}): QueuedSend {
    this.calls.push(["edit", sequence, text, options]);
    const key = this.timeline.keyOf(sequence);
    if (key) this.timeline.change(key, { text, state: "edited", edited_at: Date.now() });
    return queuedSend("edit");
  }

  redact(sequence: number): QueuedSend {
    this.calls.push(["redact", sequence]);
    const key = this.timeline.keyOf(sequence);
    if (key) this.timeline.change(key, { text: "", state: "redacted", reactions: [] });
    return queuedSend("redact");
  }

  react(sequence: number, emoji: string, options: { is_removed?: boolean } = {}): QueuedSend {
    this.calls.push(["react", sequence, emoji, options]);
    return queuedSend("react");
  }

  async read(sequence: number): Promise<void> {
    this.calls.push(["read", sequence]);
  }

  setTyping(isTyping = true): void {
    this.calls.push(["setTyping", isTyping]);
  }
}

function queuedSend(key: string): QueuedSend {
  return { key, stored: Promise.resolve(), outcome: new Promise(() => {}) };
}

class FakePresenceMap {
  watched: string[] = [];
  private readonly users = new Map<string, ObservableValue<Presence | undefined>>();

  of(user: string): ObservableValue<Presence | undefined> {
    let presence = this.users.get(user);
    if (!presence) {
      presence = new ObservableValue<Presence | undefined>(undefined);
      this.users.set(user, presence);
    }
    return presence;
  }

  watch(users: readonly string[]): () => void {
    this.watched.push(...users);
    return () => {
      for (const user of users) this.watched.splice(this.watched.indexOf(user), 1);
    };
  }
}

/** The observables of a client without a connection. Tests and the preview change them by hand. */
export class FakeClient {
  readonly connection = new ObservableValue<ConnectionStatus>({ state: "live" });
  readonly user = new ObservableValue<string | undefined>("anna");
  readonly chats = new FakeChatList();
  readonly presence = new FakePresenceMap();
  /** How often a connection was opened. Like the client, `start` does nothing while it is open. */
  connections = 0;
  isOpen = false;
  private readonly openChats = new Map<string, FakeChat>();
  private readonly inboxes = new Map<string, FakeInbox>();

  start(): void {
    if (!this.isOpen) this.connections += 1;
    this.isOpen = true;
  }

  async close(): Promise<void> {
    this.isOpen = false;
  }

  /** No event is emitted. A test that needs events replaces this. */
  on(): () => void {
    return () => {};
  }

  chat(id: string): FakeChat {
    let chat = this.openChats.get(id);
    if (!chat) {
      chat = new FakeChat(this, id);
      this.openChats.set(id, chat);
    }
    return chat;
  }

  inbox(name = "default"): FakeInbox {
    let inbox = this.inboxes.get(name);
    if (!inbox) {
      inbox = new FakeInbox(name);
      this.inboxes.set(name, inbox);
    }
    return inbox;
  }

  /** The type that the components expect. */
  get asClient(): Client {
    return this as unknown as Client;
  }
}
