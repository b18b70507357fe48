import { type ClipboardEvent, type ReactNode, type RefObject, useEffect, useRef, useState } from "react";
import { MAX_ATTACHMENTS } from "../draft_uploads.ts";
import { useAttachments } from "../hooks/attachments.ts";
import { useSettings } from "../hooks/client.ts";
import type { Composer } from "../hooks/composer.ts";
import { IconButton } from "../parts/icon_button.tsx";

/** Return a function that attaches files, or `undefined` if the client has no attachments. */
export function useAttach(composer: Composer): ((files: Iterable<File>) => void) | undefined {
  const { locale, announce } = useSettings();
  const attachments = useAttachments();
  if (!attachments || composer.editItem) return undefined;
  return (files) => {
    for (const file of files)
      if (file.size > 0 && !composer.attach(attachments, file))
        announce(locale.text("tooManyFiles", { count: MAX_ATTACHMENTS }));
  };
}

/** A button that lets the user choose files. `open` of the ref does the same. */
export function AttachButton(props: {
  input: RefObject<HTMLInputElement | null>;
  onFiles: (files: Iterable<File>) => void;
}): ReactNode {
  const { locale } = useSettings();
  return (
    <>
      <IconButton icon="attach" label={locale.text("attach")} onClick={() => props.input.current?.click()} />
      <input
        ref={props.input}
        type="file"
        multiple
        hidden
        aria-label={locale.text("attach")}
        onChange={(event) => {
          props.onFiles([...(event.target.files ?? [])]);
          // So that the same file can be chosen again.
          event.target.value = "";
        }}
      />
    </>
  );
}

/** Return a listener for pasted files. Text is pasted as usual. */
export function pasteListener(onFiles: ((files: Iterable<File>) => void) | undefined) {
  return (event: ClipboardEvent) => {
    const files = [...event.clipboardData.files];
    if (!onFiles || files.length === 0) return;
    event.preventDefault();
    onFiles(files);
  };
}

/** Accept files that are dropped anywhere in the chat. Returns whether files are above it. */
export function useDrop(
  composer: RefObject<HTMLElement | null>,
  onFiles: ((files: Iterable<File>) => void) | undefined,
): boolean {
  const [isOver, setIsOver] = useState(false);
  const listener = useRef(onFiles);
  listener.current = onFiles;
  useEffect(() => {
    const area = composer.current?.closest<HTMLElement>(".td-main") ?? composer.current;
    if (!area) return;
    const hasFiles = (event: DragEvent) =>
      Boolean(listener.current && event.dataTransfer?.types.includes("Files"));
    const over = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setIsOver(true);
    };
    const leave = (event: DragEvent) => {
      if (!area.contains(event.relatedTarget as Node | null)) setIsOver(false);
    };
    const drop = (event: DragEvent) => {
      setIsOver(false);
      if (!hasFiles(event)) return;
      event.preventDefault();
      listener.current?.([...(event.dataTransfer?.files ?? [])]);
    };
    area.addEventListener("dragover", over);
    area.addEventListener("dragleave", leave);
    area.addEventListener("drop", drop);
    return () => {
      area.removeEventListener("dragover", over);
      area.removeEventListener("dragleave", leave);
      area.removeEventListener("drop", drop);
    };
  }, [composer]);
  return isOver;
}
