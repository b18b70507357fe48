import {
  type Attachment,
  type AttachmentLink,
  Attachments,
  attachmentsOf,
  type LinkPreview,
  type TidingsError,
  type TimelineItem,
} from "@tidings/client";
import { useCallback, useEffect, useMemo, useState } from "react";
import { useClient } from "./client.ts";
import { perClient } from "./per_client.ts";

const attachmentsOfClient = perClient((client) => new Attachments(client));

/** Return the attachments of the client, or `undefined` if it has no address of the REST API (`api`). */
export function useAttachments(): Attachments | undefined {
  return attachmentsOfClient(useClient());
}

/** Return the files of a message, as its sender described them: the same array until they change. */
export function useMessageAttachments(item: TimelineItem): readonly Attachment[] {
  const { attachments, data } = item;
  return useMemo(() => attachmentsOf({ attachments: attachments ?? [], data }), [attachments, data]);
}

export interface AttachmentLinkState {
  readonly link: AttachmentLink | undefined;
  readonly error: TidingsError | undefined;
  /** Request a new link, because this one has expired. */
  readonly renew: () => void;
}

/** Request where to download a file of a committed message. */
export function useAttachmentLink(
  chat: string,
  sequence: number | undefined,
  id: string,
): AttachmentLinkState {
  const attachments = useAttachments();
  const [state, setState] = useState<{ link?: AttachmentLink; error?: TidingsError }>({});
  const [tries, setTries] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `tries` requests the link again.
  useEffect(() => {
    if (!attachments || sequence === undefined) return;
    let isCurrent = true;
    attachments.link(chat, sequence, id).then(
      (link) => isCurrent && setState({ link }),
      (error: TidingsError) => isCurrent && setState({ error }),
    );
    return () => {
      isCurrent = false;
    };
  }, [attachments, chat, sequence, id, tries]);
  const renew = useCallback(() => setTries((before) => Math.min(before + 1, 3)), []);
  return { link: state.link, error: state.error, renew };
}

const LINK = /https?:\/\/\S/i;

/** Return what the page of a message's first link says about itself, once the media worker has fetched it. */
export function useLinkPreview(
  chat: string,
  { sequence, text, edited_at }: TimelineItem,
): LinkPreview | undefined {
  const attachments = useAttachments();
  const [preview, setPreview] = useState<LinkPreview>();
  const isAsked = sequence !== undefined && LINK.test(text);
  // biome-ignore lint/correctness/useExhaustiveDependencies: an edit can change the link.
  useEffect(() => {
    setPreview(undefined);
    if (!attachments || !isAsked) return;
    let isCurrent = true;
    // Without an answer the message is shown without a preview.
    attachments.linkPreview(chat, sequence).then(
      (found) => isCurrent && setPreview(found),
      () => undefined,
    );
    return () => {
      isCurrent = false;
    };
  }, [attachments, chat, sequence, isAsked, edited_at]);
  return preview;
}
