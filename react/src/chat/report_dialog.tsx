import type { ReportReason, TimelineItem } from "@tidings/client";
import { type FormEvent, type ReactNode, useEffect, useId, useRef, useState } from "react";
import { useSettings } from "../hooks/client.ts";
import { useModeration } from "../hooks/moderation.ts";
import type { TextKey } from "../locale/texts.ts";

export interface ReportDialogProps {
  chat: string;
  item: TimelineItem;
  onClose: () => void;
}

const REASONS: Record<ReportReason, TextKey> = {
  spam: "reasonSpam",
  abuse: "reasonAbuse",
  violence: "reasonViolence",
  sexual: "reasonSexual",
  illegal: "reasonIllegal",
  other: "reasonOther",
};
const MAX_TEXT = 200;

/** Reports a message with a reason. */
export function ReportDialog({ chat, item, onClose }: ReportDialogProps): ReactNode {
  const { locale, announce } = useSettings();
  const moderation = useModeration();
  const dialog = useRef<HTMLDialogElement>(null);
  const [reason, setReason] = useState<ReportReason>("spam");
  const [text, setText] = useState("");
  const [state, setState] = useState<"asking" | "sending" | "failed">("asking");
  const id = useId();
  useEffect(() => dialog.current?.showModal(), []);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setState("sending");
    try {
      await moderation?.reportMessage(chat, item.sequence ?? 0, reason, text.trim());
      announce(locale.text("reported"));
      dialog.current?.close();
    } catch {
      setState("failed");
      announce(locale.text("actionFailed"));
    }
  };
  return (
    <dialog
      ref={dialog}
      className="td-dialog"
      aria-labelledby={id}
      onClose={onClose}
      // The messages behind it also listen to keys.
      onKeyDown={(event) => event.stopPropagation()}
    >
      <form onSubmit={(event) => void submit(event)}>
        <h2 id={id}>{locale.text("reportTitle")}</h2>
        <ReasonChoice reason={reason} onChange={setReason} />
        <label className="td-dialog-field">
          {locale.text("reportText")}
          <textarea
            rows={2}
            dir="auto"
            maxLength={MAX_TEXT}
            value={text}
            onChange={(event) => setText(event.target.value.replace(/\s/g, " "))}
          />
        </label>
        {state === "failed" && <p className="td-failed">{locale.text("actionFailed")}</p>}
        <div className="td-dialog-buttons">
          <button type="button" onClick={() => dialog.current?.close()}>
            {locale.text("cancel")}
          </button>
          <button type="submit" className="td-primary" disabled={state === "sending"}>
            {locale.text("reportSend")}
          </button>
        </div>
      </form>
    </dialog>
  );
}

function ReasonChoice({
  reason,
  onChange,
}: {
  reason: ReportReason;
  onChange: (reason: ReportReason) => void;
}) {
  const { locale } = useSettings();
  const name = useId();
  return (
    <fieldset>
      <legend className="td-hidden">{locale.text("reportReason")}</legend>
      {Object.entries(REASONS).map(([value, key]) => (
        <label key={value}>
          <input
            type="radio"
            name={name}
            value={value}
            checked={reason === value}
            onChange={() => onChange(value as ReportReason)}
          />
          {locale.text(key)}
        </label>
      ))}
    </fieldset>
  );
}
