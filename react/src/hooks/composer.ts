import type { Attachments, QueuedSend, TimelineItem, Upload, UploadOptions } from "@tidings/client";
import { useMemo } from "react";
import { composerOf } from "../composer_model.ts";
import { useClient } from "./client.ts";
import { useObservable } from "./observable.ts";

export interface Composer {
  readonly text: string;
  readonly canSend: boolean;
  /** The attached files. */
  readonly uploads: readonly Upload[];
  /** The message that is replied to. */
  readonly replyItem: TimelineItem | undefined;
  /** The message that is edited. */
  readonly editItem: TimelineItem | undefined;
  /** Call this on each change of the text field. It also tells the other members that the user is typing. */
  readonly setText: (text: string) => void;
  readonly reply: (key: string) => void;
  readonly edit: (key: string) => void;
  readonly cancel: () => void;
  readonly send: () => QueuedSend | undefined;
  /** Attach a file and start its upload. Returns `undefined` if the message has the maximum number of files. */
  readonly attach: (attachments: Attachments, file: Blob, options?: UploadOptions) => Upload | undefined;
  /** Remove a file, and cancel its upload. */
  readonly detach: (upload: Upload) => void;
}

/**
 * Return the draft of a chat and the functions of a composer. All components that ask for the composer of one chat
 * share the draft, and it survives switching chats.
 */
export function useComposer(chat: string): Composer {
  const client = useClient();
  const model = composerOf(client.chat(chat));
  const { timeline } = client.chat(chat);
  const state = useObservable(model);
  const { uploads, areComplete } = useObservable(model.uploads);
  const replyItem = useObservable(state.replyKey ? timeline.item(state.replyKey) : undefined);
  const editItem = useObservable(state.editKey ? timeline.item(state.editKey) : undefined);
  const actions = useMemo(
    () => ({
      setText: (text: string) => model.setText(text),
      reply: (key: string) => model.reply(key),
      edit: (key: string) => model.edit(key),
      cancel: () => model.cancel(),
      send: () => model.send(),
      attach: (attachments: Attachments, file: Blob, options?: UploadOptions) =>
        model.uploads.attach(attachments, file, options),
      detach: (upload: Upload) => model.uploads.remove(upload),
    }),
    [model],
  );
  const hasText = state.text.trim() !== "";
  const canSend = state.editKey ? hasText : areComplete && (hasText || uploads.length > 0);
  return { text: state.text, canSend, uploads, replyItem, editItem, ...actions };
}
