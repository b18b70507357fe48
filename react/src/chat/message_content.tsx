import type { TimelineItem } from "@tidings/client";
import type { ReactNode } from "react";
import { useMessageAttachments } from "../hooks/attachments.ts";
import { useSettings } from "../hooks/client.ts";
import { RichText } from "../parts/rich_text.tsx";

export interface MessageContentProps {
  item: TimelineItem;
}

/** The text of a message. Replace it to show what your app puts into `item.data`. */
export function MessageContent({ item }: MessageContentProps): ReactNode {
  const text = useMessageText(item);
  return (
    <div className="td-message-text" dir="auto">
      <RichText text={text} />
    </div>
  );
}

/** Return the text of a message, the names of its files, or why there is none. */
export function useMessageText(item: TimelineItem): string {
  const { locale } = useSettings();
  const files = useMessageAttachments(item);
  if (item.state === "active" || item.state === "edited")
    return item.text || locale.list(files.map(({ alt, name }) => alt || name || locale.text("file")));
  const known = { redacted: "redacted", expired: "expired", archived: "archived", erased: "erased" } as const;
  return locale.text(known[item.state as keyof typeof known] ?? "unavailable");
}
