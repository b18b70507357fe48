import type { ReactNode } from "react";
import { useSettings } from "../hooks/client.ts";
import { useTyping } from "../hooks/ephemeral.ts";
import { useUserNames } from "../hooks/user.ts";

export interface TypingIndicatorProps {
  chat: string;
}

const MAX_NAMES = 3;

/** The users who are typing. The line keeps its height, so that the log does not move. */
export function TypingIndicator({ chat }: TypingIndicatorProps): ReactNode {
  const { locale } = useSettings();
  const users = useTyping(chat);
  const nameOf = useUserNames();
  const count = users.length;
  const text =
    count > MAX_NAMES
      ? locale.text("typingMany")
      : locale.text("typing", { names: locale.list(users.map(nameOf)), count });
  return (
    <div className="td-typing">
      {count > 0 && (
        <>
          <span className="td-typing-dots" aria-hidden="true">
            <span />
            <span />
            <span />
          </span>
          <span dir="auto">{text}</span>
        </>
      )}
    </div>
  );
}
