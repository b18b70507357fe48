/** An inbox of the scripted server. It answers like the real one, and pushes changes. */
import type { Frame, ScriptedServer } from "./scripted_server.ts";

export class ScriptedInbox {
  readonly notifications = new Map<string, Frame>();
  version = 1;
  at = 1;
  upTo = 0;
  nextChangeAt: number | undefined;
  readonly #server: ScriptedServer;

  constructor(server: ScriptedServer) {
    this.#server = server;
    Object.assign(server.answers, {
      counts: () => ({ ok: this.counts }),
      notifications: (body: Frame) => this.#page(body),
      mark: (body: Frame) => this.#mark(body),
      preferences: ({ inbox, channels }: Frame) => ({
        ok: { inbox, channels: { inbox: true, ...(channels as Frame) } },
      }),
    });
  }

  put(more: Frame = {}): Frame {
    const id = `01${String(this.notifications.size).padStart(24, "0")}`;
    const notification = { id, at: 1, delivered_at: 1, message: { text: id }, ...more };
    this.notifications.set(id, notification);
    this.version++;
    return notification;
  }

  get counts(): Frame {
    const unread = [...this.notifications.values()].filter(
      (each) => !each.is_read && !each.is_archived,
    ).length;
    return {
      inbox: "default",
      version: this.version,
      at: ++this.at,
      unread,
      broadcasts_up_to: this.upTo,
      ...(this.nextChangeAt && { next_change_at: this.nextChangeAt }),
    };
  }

  give(more: Frame = {}): Frame {
    const added = this.put(more);
    this.#server.push({ inbox: { counts: this.counts, added: [added] } });
    return added;
  }

  /** Push a broadcast. It has no counts: the client requests them. */
  broadcast(): Frame {
    const added = this.put();
    this.upTo++;
    this.#server.push({ broadcast: { inbox: "default", up_to: this.upTo, added: [added] } });
    return added;
  }

  amend(id: string): void {
    const amended = Object.assign(this.notifications.get(id) ?? {}, {
      message: { text: "amended" },
      version: 2,
    });
    const { is_read: _, ...pushed } = amended;
    this.#server.push({ broadcast: { inbox: "default", up_to: ++this.upTo, amended: [pushed] } });
  }

  recall(id: string): void {
    this.notifications.delete(id);
    this.version++;
    this.#server.push({ broadcast: { inbox: "default", up_to: ++this.upTo, removed: [id] } });
  }

  /** Mark on another device. The push has counts only. */
  markElsewhere(id: string): void {
    Object.assign(this.notifications.get(id) ?? {}, { is_read: true });
    this.version++;
    this.#server.push({ inbox: { counts: this.counts } });
  }

  #page({ cursor = "9", limit = 20, is_archived = false, is_unread = false, category }: Frame): Frame {
    const listed = [...this.notifications.values()]
      .sort((a, b) => (a.id < b.id ? 1 : -1))
      .filter(
        (each) =>
          each.id < cursor &&
          (each.is_archived ?? false) === is_archived &&
          !(is_unread && each.is_read) &&
          (category === undefined || each.category === category),
      );
    const page = listed.slice(0, limit);
    return {
      ok: {
        notifications: page,
        counts: this.counts,
        ...(listed.length > limit && { cursor: page.at(-1)?.id }),
      },
    };
  }

  #mark({ to, ids, before = Infinity, category }: Frame): Frame {
    const marks: Record<string, Frame> = {
      read: { is_read: true },
      unread: { is_read: false },
      archived: { is_archived: true },
      restored: { is_archived: false },
    };
    for (const each of this.notifications.values()) {
      const isMarked = ids
        ? ids.includes(each.id)
        : each.delivered_at <= before && (category === undefined || each.category === category);
      if (isMarked) Object.assign(each, marks[to]);
    }
    this.version++;
    return { ok: this.counts };
  }
}
