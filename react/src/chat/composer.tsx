import type { Chat } from "@tidings/client";
import {
  type FormEvent,
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import { composerOf } from "../composer_model.ts";
import { useAttachments } from "../hooks/attachments.ts";
import { useClient, useSettings } from "../hooks/client.ts";
import { type Composer as ComposerFunctions, useComposer } from "../hooks/composer.ts";
import { type SendRestriction, useSendRestriction } from "../hooks/moderation.ts";
import { useUserNames } from "../hooks/user.ts";
import { Icon } from "../parts/icon.tsx";
import { IconButton } from "../parts/icon_button.tsx";
import { AttachButton, pasteListener, useAttach, useDrop } from "./attach_files.tsx";
import { DraftAttachments, UnfinishedUploads } from "./draft_attachments.tsx";
import { VoiceRecorder } from "./voice_recorder.tsx";

export interface ComposerProps {
  chat: string;
}

/** The text field of a chat. Enter sends, Shift+Enter breaks the line, arrow up edits the last own message. */
export function Composer({ chat: id }: ComposerProps): ReactNode {
  const { locale } = useSettings();
  const chat = useClient().chat(id);
  const composer = useComposer(id);
  const field = useRef<HTMLTextAreaElement>(null);
  const form = useRef<HTMLFormElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const { send, isRefused } = useSend(composer);
  const restriction = useSendRestriction(id);
  const isDisabled = restriction !== undefined && restriction.kind !== "slow";
  const attachFiles = useAttach(composer);
  const attach = isDisabled ? undefined : attachFiles;
  const isDropping = useDrop(form, attach);
  useEffect(() => composerOf(chat).onFocus(() => field.current?.focus()), [chat]);
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    if (!restriction) send();
    field.current?.focus();
  };
  const label = locale.text(composer.editItem ? "save" : "send");
  return (
    <form
      ref={form}
      className="td-composer"
      data-drop={isDropping || undefined}
      onSubmit={onSubmit}
      onPaste={pasteListener(attach)}
    >
      <ComposerContext composer={composer} />
      {isDropping && <p className="td-drop-hint">{locale.text("dropFiles")}</p>}
      {attach && <UnfinishedUploads chat={id} onChoose={() => input.current?.click()} />}
      {attach && <DraftAttachments composer={composer} />}
      {isRefused && <p className="td-failed">{locale.text("refused")}</p>}
      {restriction && <RestrictionText restriction={restriction} />}
      <div className="td-composer-line" data-attach={attach ? "" : undefined}>
        {attach && <AttachButton input={input} onFiles={attach} />}
        <ComposerField
          chat={chat}
          composer={composer}
          field={field}
          isDisabled={isDisabled}
          onSend={restriction ? () => undefined : send}
        />
        {attach && <VoiceButton composer={composer} />}
        <button
          type="submit"
          className="td-send"
          disabled={!composer.canSend || restriction !== undefined}
          aria-label={label}
          title={label}
        >
          <Icon name={composer.editItem ? "check" : "send"} />
        </button>
      </div>
    </form>
  );
}

/** Records a voice message, and attaches it when the recording ends. */
function VoiceButton({ composer }: { composer: ComposerFunctions }) {
  const { locale } = useSettings();
  const attachments = useAttachments();
  const onRecorded = (recording: Blob, duration_ms: number) => {
    const name = `${locale.text("voiceMessage")}.${recording.type.includes("mp4") ? "m4a" : "webm"}`;
    if (attachments) composer.attach(attachments, recording, { name, duration_ms });
  };
  return <VoiceRecorder onRecorded={onRecorded} />;
}

interface ComposerFieldProps {
  chat: Chat;
  composer: ComposerFunctions;
  field: RefObject<HTMLTextAreaElement | null>;
  isDisabled: boolean;
  onSend: () => void;
}

/** Why the user cannot send now, with the time that remains. */
function RestrictionText({ restriction: { kind, until } }: { restriction: SendRestriction }) {
  const { locale } = useSettings();
  const count = Math.max(1, Math.ceil(((until ?? 0) - Date.now()) / 1_000));
  const texts = {
    frozen: () => locale.text("restrictedFrozen"),
    muted: () =>
      until === undefined
        ? locale.text("restrictedMuted")
        : locale.text("restrictedMutedUntil", { time: locale.full(until) }),
    slow: () => locale.text("restrictedSlow", { count }),
  };
  // A screen reader announces the reason once, and not each second.
  return (
    <p className="td-restricted" role={kind === "slow" ? undefined : "status"}>
      {texts[kind]()}
    </p>
  );
}

function ComposerField({ chat, composer, field, isDisabled, onSend }: ComposerFieldProps) {
  const { locale } = useSettings();
  const id = useId();
  useFittingHeight(field, composer.text);
  const onKeyDown = (event: KeyboardEvent) => {
    // Enter also ends the composition of a Japanese or Chinese word.
    if (event.nativeEvent.isComposing) return;
    const isBusy = composer.editItem !== undefined || composer.replyItem !== undefined;
    const lastOwn = event.key === "ArrowUp" && composer.text === "" && !isBusy ? lastOwnKey(chat) : undefined;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      onSend();
    } else if (event.key === "Escape" && isBusy) {
      event.stopPropagation();
      composer.cancel();
    } else if (lastOwn !== undefined) {
      event.preventDefault();
      composer.edit(lastOwn);
    }
  };
  return (
    <>
      <label className="td-hidden" htmlFor={id}>
        {locale.text("composer")}
      </label>
      <textarea
        ref={field}
        id={id}
        className="td-composer-field"
        dir="auto"
        rows={1}
        disabled={isDisabled}
        placeholder={locale.text("composer")}
        value={composer.text}
        onChange={(event) => composer.setText(event.target.value)}
        onKeyDown={onKeyDown}
      />
    </>
  );
}

/** Return a function that sends, and whether the current text was refused. It stays in the field then. */
function useSend(composer: ComposerFunctions): { send: () => void; isRefused: boolean } {
  const { locale, announce } = useSettings();
  const [refused, setRefused] = useState<string>();
  const send = () => {
    try {
      composer.send();
    } catch {
      setRefused(composer.text);
      announce(locale.text("refused"));
    }
  };
  return { send, isRefused: refused !== undefined && refused === composer.text };
}

/** The message that is replied to or edited, above the text field. */
function ComposerContext({ composer }: { composer: ComposerFunctions }) {
  const { locale } = useSettings();
  const nameOf = useUserNames();
  const item = composer.editItem ?? composer.replyItem;
  if (!item) return null;
  const reply = item.isOwn ? "replyingToYou" : "replyingTo";
  const title = composer.editItem ? locale.text("editing") : locale.text(reply, { name: nameOf(item.by) });
  return (
    <div className="td-composer-context">
      <Icon name={composer.editItem ? "edit" : "reply"} />
      <div className="td-composer-quote">
        <span className="td-quote-author">{title}</span>
        <span className="td-quote-text" dir="auto">
          {item.text}
        </span>
      </div>
      <IconButton icon="close" label={locale.text("cancel")} onClick={composer.cancel} />
    </div>
  );
}

function lastOwnKey({ timeline }: Chat): string | undefined {
  return timeline.keys.get().findLast((key) => {
    const item = timeline.item(key).get();
    return (
      item?.isOwn && item.kind === "message" && item.delivery === "committed" && item.state !== "redacted"
    );
  });
}

/** Let the field grow with its text, where the browser does not do it (`field-sizing`). */
function useFittingHeight(field: RefObject<HTMLTextAreaElement | null>, text: string): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: the height depends on the text.
  useLayoutEffect(() => {
    const element = field.current;
    if (!element || CSS.supports("field-sizing", "content")) return;
    element.style.height = "auto";
    element.style.height = `${element.scrollHeight}px`;
  }, [field, text]);
}
