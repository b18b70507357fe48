import type { Chat, TimelineItem } from "@tidings/client";
import type { ReactNode } from "react";
import { useLinkPreview } from "../hooks/attachments.ts";

export interface MessageLinkPreviewProps {
  chat: Chat;
  item: TimelineItem;
}

/** Title, description and picture of the page that a message links to. */
export function MessageLinkPreview({ chat, item }: MessageLinkPreviewProps): ReactNode {
  const preview = useLinkPreview(chat.id, item);
  if (!preview) return null;
  return (
    <a className="td-link-preview" href={preview.url} target="_blank" rel="noopener noreferrer nofollow">
      {preview.image && <img src={preview.image} alt="" />}
      <span className="td-link-preview-main" dir="auto">
        <span className="td-link-preview-title">{preview.title}</span>
        {preview.description && <span className="td-link-preview-text">{preview.description}</span>}
        <span className="td-link-preview-host">{hostOf(preview.url)}</span>
      </span>
    </a>
  );
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : url;
}
