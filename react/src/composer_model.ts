import type { Chat, EditOptions, QueuedSend, SendOptions, TimelineItem } from "@tidings/client";
import { DraftUploads } from "./draft_uploads.ts";
import { ObservableValue } from "./observable_value.ts";

export interface ComposerState {
  readonly text: string;
  /** Key of the message that is replied to. */
  readonly replyKey?: string | undefined;
  /** Key of the message that is edited. */
  readonly editKey?: string | undefined;
}

const EMPTY: ComposerState = { text: "" };

/**
 * The draft of one chat.
 *
 * It lives outside of React, so that switching chats keeps the draft and a message row can start a reply without
 * rendering for each keystroke.
 */
export class ComposerModel extends ObservableValue<ComposerState> {
  /** The files of the message. Edits do not change them. */
  readonly uploads: DraftUploads;
  private readonly chat: Chat;
  /** The draft to return to when an edit ends. */
  private draft: ComposerState = EMPTY;
  private focusListener: (() => void) | undefined;

  constructor(chat: Chat) {
    super(EMPTY);
    this.chat = chat;
    this.uploads = new DraftUploads(chat.id);
  }

  /** Change the text, and tell the other members that the user is typing. */
  setText(text: string): void {
    const state = this.get();
    if (text === state.text) return;
    this.set({ ...state, text });
    if (!state.editKey) this.chat.setTyping(text !== "");
  }

  /** Reply to a message with the next one. */
  reply(key: string): void {
    const { text } = this.get().editKey ? this.draft : this.get();
    this.set({ text, replyKey: key });
    this.focus();
  }

  /** Edit an own message. The current draft is kept until the edit ends. */
  edit(key: string): void {
    const item = this.chat.timeline.item(key).get();
    if (!item) return;
    if (!this.get().editKey) this.draft = this.get();
    this.set({ text: item.text, editKey: key });
    this.focus();
  }

  /** End an edit or a reply without sending. */
  cancel(): void {
    const { text, editKey } = this.get();
    this.set(editKey ? this.draft : { text });
    this.draft = EMPTY;
  }

  /**
   * Send the message or save the edit. Returns `undefined` if there is nothing to send, or a file is not uploaded yet.
   *
   * Throws `request_invalid`, and keeps the text, if the server would refuse it, for example because it is too long.
   */
  send(): QueuedSend | undefined {
    const { text, replyKey, editKey } = this.get();
    const trimmed = text.trim();
    const { uploads, areComplete } = this.uploads.get();
    if (!trimmed && (editKey || !uploads.length)) return undefined;
    const item = editKey ? this.chat.timeline.item(editKey).get() : undefined;
    if (editKey) {
      // Nothing to save: the text is the same, or the message was never committed.
      const isSame = item?.sequence === undefined || item.text === trimmed;
      const queued = isSame ? undefined : this.chat.edit(item.sequence, trimmed, keptByEdit(item));
      this.cancel();
      return queued;
    }
    if (!areComplete) return undefined;
    const { timeline } = this.chat;
    const replyTo = replyKey ? timeline.item(replyKey).get()?.sequence : undefined;
    const queued = this.sendWithUploads(trimmed, replyTo === undefined ? {} : { reply_to: replyTo });
    this.set(EMPTY);
    this.chat.setTyping(false);
    // The log shows an older part, where the new message is not visible.
    if (timeline.range.get().hasNewer) timeline.loadNewest().catch(() => {});
    return queued;
  }

  private sendWithUploads(text: string, options: SendOptions): QueuedSend {
    const taken = this.uploads.take();
    if (!taken) return this.chat.send(text, options);
    try {
      return taken.attachments.send(this.chat, text, taken.uploads, options);
    } catch (error) {
      this.uploads.restore(taken.uploads);
      throw error;
    }
  }

  /** Focus the text field of this chat, if one is on the page. */
  focus(): void {
    this.focusListener?.();
  }

  /** Let `focus()` call this function. Returns a function that undoes it. */
  onFocus(listener: () => void): () => void {
    this.focusListener = listener;
    return () => {
      if (this.focusListener === listener) this.focusListener = undefined;
    };
  }
}

/** An edit replaces the whole content: repeat what the user does not edit. */
function keptByEdit({ data, reply_to, mentions }: TimelineItem): EditOptions {
  return { mentions, ...(data && { data }), ...(reply_to !== undefined && { reply_to }) };
}

const models = new WeakMap<Chat, ComposerModel>();

/** Return the composer of a chat: always the same object for the same chat. */
export function composerOf(chat: Chat): ComposerModel {
  let model = models.get(chat);
  if (!model) {
    model = new ComposerModel(chat);
    models.set(chat, model);
  }
  return model;
}
