import { type ReactNode, useCallback, useEffect, useId, useRef, useState } from "react";
import { composerOf } from "../composer_model.ts";
import { useClient, useSettings } from "../hooks/client.ts";
import { IconButton } from "../parts/icon_button.tsx";
import { itemElement } from "../parts/list_focus.ts";
import { Root } from "../parts/root.tsx";
import { EmptyState } from "../parts/states.tsx";
import { SearchPanel } from "../search/search_panel.tsx";
import { type Components, ComponentsProvider, useComponent } from "../slots.tsx";
import { ChatHeader } from "./chat_header.tsx";
import { ChatList } from "./chat_list.tsx";
import { Composer } from "./composer.tsx";
import { ConnectionBanner } from "./connection_banner.tsx";
import { MessageList } from "./message_list.tsx";
import { TypingIndicator } from "./typing_indicator.tsx";
import { type ChatSearch, useChatSearch } from "./use_chat_search.ts";
import type { MessageTarget } from "./use_jump.ts";

export interface ChatProps {
  /** Id of the open chat, if the app controls it. `null`: none is open. */
  chat?: string | null | undefined;
  /** Id of the chat that is open at first, if the app does not control it. */
  defaultChat?: string | undefined;
  /** Called when the user opens a chat, or with `null` when they return to the list. */
  onChatChange?: ((chat: string | null) => void) | undefined;
  /** Show the chat list. Default: yes. Without it, give `chat`. */
  hasList?: boolean | undefined;
  /** Let the user search messages. The tenant must use search, and the client needs the option `api`. Default: no. */
  hasSearch?: boolean | undefined;
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

function ChatFrame(props: ChatProps) {
  const { hasList = true, hasSearch = false, className = "" } = props;
  const { locale } = useSettings();
  const [open, choose] = useOpenedChat(props);
  const root = useRef<HTMLDivElement>(null);
  const focusAfterChange = useFocusAfterChange(root, open);
  const search = useChatSearch(root, hasSearch, choose);
  const { forgetTarget } = search;
  const change = useCallback(
    (next: string | null) => {
      focusAfterChange();
      forgetTarget();
      choose(next);
    },
    [choose, forgetTarget, focusAfterChange],
  );
  const Empty = useComponent("EmptyState", EmptyState);
  return (
    <Root
      ref={root}
      className={`td-chat ${className}`}
      data-open={(open !== null && !search.isInFront) || undefined}
    >
      {search.isOpen ? (
        <SearchSide search={search} />
      ) : (
        hasList && <ChatSide open={open} search={search} onSelect={change} />
      )}
      {open === null ? (
        <div className="td-main" data-empty="">
          <Empty icon="chat" title={locale.text("chooseChat")} hint={locale.text("chooseChatHint")} />
        </div>
      ) : (
        <OpenChat
          key={open}
          chat={open}
          target={search.targetIn(open)}
          onBack={search.isOpen ? search.returnToResults : hasList ? () => change(null) : undefined}
          onSearch={search.isAvailable ? () => search.open(open) : undefined}
        />
      )}
    </Root>
  );
}

/** Return the id of the open chat, and a function that opens another one. */
function useOpenedChat({ chat, defaultChat, onChatChange }: ChatProps) {
  const [ownChoice, setOwnChoice] = useState<string | null>(defaultChat ?? null);
  const choose = useCallback(
    (next: string | null) => {
      setOwnChoice(next);
      onChatChange?.(next);
    },
    [onChatChange],
  );
  return [chat === undefined ? ownChoice : chat, choose] as const;
}

function SearchSide({ search }: { search: ChatSearch }) {
  return (
    <div className="td-side">
      <SearchPanel key={search.chat} chat={search.chat} onSelect={search.select} onClose={search.close} />
    </div>
  );
}

interface ChatSideProps {
  open: string | null;
  search: ChatSearch;
  onSelect: (chat: string) => void;
}

function ChatSide({ open, search, onSelect }: ChatSideProps) {
  const { locale } = useSettings();
  const Banner = useComponent("ConnectionBanner", ConnectionBanner);
  return (
    <nav className="td-side" aria-label={locale.text("chats")}>
      <div className="td-side-head">
        <h2 className="td-side-title">{locale.text("chats")}</h2>
        {search.isAvailable && (
          <IconButton
            icon="search"
            label={locale.text("search")}
            className="td-search-open"
            onClick={() => search.open()}
          />
        )}
      </div>
      {open === null && <Banner />}
      <ChatList selected={open ?? undefined} onSelect={onSelect} />
    </nav>
  );
}

interface OpenChatProps {
  chat: string;
  target: MessageTarget | undefined;
  onBack: (() => void) | undefined;
  onSearch: (() => void) | undefined;
}

function OpenChat({ chat, target, onBack, onSearch }: OpenChatProps) {
  const titleId = useId();
  const Header = useComponent("ChatHeader", ChatHeader);
  const Banner = useComponent("ConnectionBanner", ConnectionBanner);
  const Typing = useComponent("TypingIndicator", TypingIndicator);
  const Input = useComponent("Composer", Composer);
  return (
    <section className="td-main" aria-labelledby={titleId}>
      <Header chat={chat} titleId={titleId} onBack={onBack} onSearch={onSearch} />
      <Banner />
      <MessageList chat={chat} target={target} />
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
