import { type ReactNode, useCallback, useEffect, useId, useRef, useState } from "react";
import { composerOf } from "../composer_model.ts";
import { useClient, useSettings } from "../hooks/client.ts";
import { itemElement } from "../parts/list_focus.ts";
import { Root } from "../parts/root.tsx";
import { EmptyState } from "../parts/states.tsx";
import { type Components, ComponentsProvider, useComponent } from "../slots.tsx";
import { ChatHeader } from "./chat_header.tsx";
import { ChatList } from "./chat_list.tsx";
import { Composer } from "./composer.tsx";
import { ConnectionBanner } from "./connection_banner.tsx";
import { MessageList } from "./message_list.tsx";
import { TypingIndicator } from "./typing_indicator.tsx";

export interface ChatProps {
  /** Id of the open chat, if the app controls it. `null`: none is open. */
  chat?: string | null | undefined;
  /** Id of the chat that is open at first, if the app does not control it. */
  defaultChat?: string | undefined;
  /** Called when the user opens a chat, or with `null` when they return to the list. */
  onChatChange?: ((chat: string | null) => void) | undefined;
  /** Show the chat list. Default: yes. Without it, give `chat`. */
  hasList?: boolean | undefined;
  /** Replacements of parts. */
  components?: Partial<Components> | undefined;
  className?: string | undefined;
}

/**
 * A complete chat: the list of chats, the messages and the composer. It fills its parent element; where that is
 * narrow, it shows either the list or the chat.
 */
export function Chat(props: ChatProps): ReactNode {
  return (
    <ComponentsProvider components={props.components}>
      <ChatFrame {...props} />
    </ComponentsProvider>
  );
}

function ChatFrame({ chat, defaultChat, onChatChange, hasList = true, className = "" }: ChatProps) {
  const { locale } = useSettings();
  const [ownChoice, setOwnChoice] = useState<string | null>(defaultChat ?? null);
  const open = chat === undefined ? ownChoice : chat;
  const root = useRef<HTMLDivElement>(null);
  const focusAfterChange = useFocusAfterChange(root, open);
  const change = useCallback(
    (next: string | null) => {
      focusAfterChange();
      setOwnChoice(next);
      onChatChange?.(next);
    },
    [onChatChange, focusAfterChange],
  );
  const Empty = useComponent("EmptyState", EmptyState);
  const Banner = useComponent("ConnectionBanner", ConnectionBanner);
  return (
    <Root ref={root} className={`td-chat ${className}`} data-open={open !== null || undefined}>
      {hasList && (
        <nav className="td-side" aria-label={locale.text("chats")}>
          <h2 className="td-side-title">{locale.text("chats")}</h2>
          {open === null && <Banner />}
          <ChatList selected={open ?? undefined} onSelect={change} />
        </nav>
      )}
      {open === null ? (
        <div className="td-main" data-empty="">
          <Empty icon="chat" title={locale.text("chooseChat")} hint={locale.text("chooseChatHint")} />
        </div>
      ) : (
        <OpenChat key={open} chat={open} onBack={hasList ? () => change(null) : undefined} />
      )}
    </Root>
  );
}

function OpenChat({ chat, onBack }: { chat: string; onBack: (() => void) | undefined }) {
  const titleId = useId();
  const Header = useComponent("ChatHeader", ChatHeader);
  const Banner = useComponent("ConnectionBanner", ConnectionBanner);
  const Typing = useComponent("TypingIndicator", TypingIndicator);
  const Input = useComponent("Composer", Composer);
  return (
    <section className="td-main" aria-labelledby={titleId}>
      <Header chat={chat} titleId={titleId} onBack={onBack} />
      <Banner />
      <MessageList chat={chat} />
      <Typing chat={chat} />
      <Input chat={chat} />
    </section>
  );
}

/**
 * Return a function to call before the user opens or leaves a chat. The focus then moves to the composer or, with a
 * touch screen, to the title: focusing the composer would open the keyboard over the messages. Back in the list, it
 * moves to the chat that was open.
 */
function useFocusAfterChange(
  root: { readonly current: HTMLElement | null },
  open: string | null,
): () => void {
  const client = useClient();
  const isChanging = useRef(false);
  const before = useRef(open);
  useEffect(() => {
    const left = before.current;
    before.current = open;
    if (!isChanging.current) return;
    isChanging.current = false;
    if (open === null) {
      itemElement(root.current, left ?? "")?.focus();
    } else if (matchMedia("(pointer: fine)").matches) {
      composerOf(client.chat(open)).focus();
    } else {
      root.current?.querySelector<HTMLElement>(".td-chat-title")?.focus();
    }
  }, [client, open, root]);
  return useCallback(() => {
    isChanging.current = true;
  }, []);
}
