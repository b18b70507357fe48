import type { Chat, TimelineItem } from "@tidings/client";
import { type ButtonHTMLAttributes, type KeyboardEvent, type ReactNode, useState } from "react";
import { composerOf } from "../composer_model.ts";
import { useCurrentUser, useSettings } from "../hooks/client.ts";
import { useModeration } from "../hooks/moderation.ts";
import { IconButton } from "../parts/icon_button.tsx";
import { ReportDialog } from "./report_dialog.tsx";

export interface MessageActionsProps {
  chat: Chat;
  item: TimelineItem;
}

/** The tab index of a button in a toolbar, and a listener that moves the tab stop to it. */
type TabStop = Pick<ButtonHTMLAttributes<HTMLButtonElement>, "tabIndex" | "onFocus">;

const EMOJI = ["👍", "❤️", "😂", "🎉", "😮", "😢"];

/** The actions of a message, shown while the pointer or the focus is in it. */
export function MessageActions({ chat, item }: MessageActionsProps): ReactNode {
  const { locale } = useSettings();
  const [menu, setMenu] = useState<"main" | "emoji">("main");
  const tabStop = useTabStop("react");
  const composer = composerOf(chat);
  const [isReporting, setIsReporting] = useState(false);
  const canReport = useModeration() !== undefined && !item.isOwn && item.sequence !== undefined;
  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    if (event.key === "Escape") setMenu("main");
    else moveInToolbar(event);
  };
  return (
    <div className="td-actions" role="toolbar" aria-label={locale.text("actions")} onKeyDown={onKeyDown}>
      {menu === "emoji" ? (
        <EmojiButtons chat={chat} item={item} onDone={() => setMenu("main")} />
      ) : (
        <>
          <IconButton
            icon="smile"
            label={locale.text("react")}
            onClick={() => setMenu("emoji")}
            {...tabStop("react")}
          />
          <IconButton
            icon="reply"
            label={locale.text("reply")}
            onClick={() => composer.reply(item.key)}
            {...tabStop("reply")}
          />
          <CopyButton text={item.text} tabStop={tabStop("copy")} />
          {canReport && (
            <IconButton
              icon="flag"
              label={locale.text("report")}
              onClick={() => setIsReporting(true)}
              {...tabStop("report")}
            />
          )}
          {item.isOwn && (
            <>
              <IconButton
                icon="edit"
                label={locale.text("edit")}
                onClick={() => composer.edit(item.key)}
                {...tabStop("edit")}
              />
              <RedactButton chat={chat} item={item} tabStop={tabStop("redact")} />
            </>
          )}
        </>
      )}
      {isReporting && <ReportDialog chat={chat.id} item={item} onClose={() => setIsReporting(false)} />}
    </div>
  );
}

/** Make a toolbar one tab stop: the button that had the focus last. The arrow keys reach the others. */
function useTabStop(first: string): (name: string) => TabStop {
  const [current, setCurrent] = useState(first);
  return (name) => ({ tabIndex: name === current ? 0 : -1, onFocus: () => setCurrent(name) });
}

function EmojiButtons({ chat, item, onDone }: MessageActionsProps & { onDone: () => void }) {
  const { locale } = useSettings();
  const self = useCurrentUser();
  const tabStop = useTabStop(EMOJI[0] ?? "");
  const react = (emoji: string, button: HTMLElement) => {
    focusMessage(button);
    const given = item.reactions.find((reaction) => reaction.emoji === emoji);
    const isOwn = self !== undefined && (given?.users.includes(self) ?? false);
    if (item.sequence !== undefined) chat.react(item.sequence, emoji, { is_removed: isOwn });
    onDone();
  };
  return EMOJI.map((emoji, index) => (
    <button
      key={emoji}
      type="button"
      className="td-emoji"
      // The button that opened the emoji had the focus, and was removed.
      // biome-ignore lint/a11y/noAutofocus: it replaces the control that the user has just used.
      autoFocus={index === 0}
      aria-label={locale.text("reactWith", { emoji })}
      onClick={(event) => react(emoji, event.currentTarget)}
      {...tabStop(emoji)}
    >
      {emoji}
    </button>
  ));
}

function CopyButton({ text, tabStop }: { text: string; tabStop: TabStop }) {
  const { locale, announce } = useSettings();
  const [isDone, setIsDone] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setIsDone(true);
    announce(locale.text("copied"));
  };
  return (
    <IconButton
      icon={isDone ? "check" : "copy"}
      label={locale.text(isDone ? "copied" : "copy")}
      onClick={() => void copy().catch(() => announce(locale.text("actionFailed")))}
      {...tabStop}
    />
  );
}

/** Deletes after a second click: a deletion cannot be undone. */
function RedactButton({ chat, item, tabStop }: MessageActionsProps & { tabStop: TabStop }) {
  const { locale, announce } = useSettings();
  const [isAsking, setIsAsking] = useState(false);
  const { sequence } = item;
  if (!isAsking) {
    const ask = () => {
      setIsAsking(true);
      announce(locale.text("redactConfirm"));
    };
    return <IconButton icon="trash" label={locale.text("redact")} onClick={ask} {...tabStop} />;
  }
  return (
    <button
      type="button"
      className="td-confirm"
      // biome-ignore lint/a11y/noAutofocus: it replaces the control that the user has just used.
      autoFocus
      {...tabStop}
      onBlur={() => setIsAsking(false)}
      onClick={(event) => {
        focusMessage(event.currentTarget);
        if (sequence !== undefined) chat.redact(sequence);
      }}
    >
      {locale.text("redactConfirm")}
    </button>
  );
}

/** Keep the focus in the message: the button that has it is about to disappear. */
function focusMessage(button: HTMLElement): void {
  button.closest<HTMLElement>("[data-td-key]")?.focus();
}

/** Move between the buttons of a toolbar with the arrow keys, along the line of writing. */
function moveInToolbar(event: KeyboardEvent<HTMLElement>): void {
  const toolbar = event.currentTarget;
  const isForward = event.key === (toolbar.matches(":dir(rtl)") ? "ArrowLeft" : "ArrowRight");
  if (!isForward && event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
  event.preventDefault();
  const buttons = [...toolbar.querySelectorAll("button")];
  const index = buttons.indexOf(document.activeElement as HTMLButtonElement);
  buttons[(index + (isForward ? 1 : -1) + buttons.length) % buttons.length]?.focus();
}
