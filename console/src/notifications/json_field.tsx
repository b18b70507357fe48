import { type ReactNode, useId, useState } from "react";

type JsonObject = Record<string, unknown>;

/** The text of a JSON object that is being written. An empty text is valid and has no value. */
export interface JsonDraft {
  text: string;
  setText: (text: string) => void;
  value: JsonObject | undefined;
  isValid: boolean;
  problem: string;
}

export function useJsonDraft(initial: JsonObject | undefined): JsonDraft {
  const [text, setText] = useState(initial ? JSON.stringify(initial, null, 2) : "");
  return { text, setText, ...parse(text) };
}

function parse(text: string): Pick<JsonDraft, "value" | "isValid" | "problem"> {
  if (!text.trim()) return { value: undefined, isValid: true, problem: "" };
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return { value: value as JsonObject, isValid: true, problem: "" };
    return { value: undefined, isValid: false, problem: "This is JSON, but not an object." };
  } catch (error) {
    return { value: undefined, isValid: false, problem: (error as Error).message };
  }
}

export function JsonField({
  label,
  draft,
  rows,
}: {
  label: string;
  draft: JsonDraft;
  rows: number;
}): ReactNode {
  const problemId = useId();
  return (
    <div>
      <label>
        {label}
        <textarea
          className="json"
          rows={rows}
          spellCheck={false}
          value={draft.text}
          aria-invalid={!draft.isValid}
          aria-describedby={problemId}
          onChange={(event) => draft.setText(event.target.value)}
        />
      </label>
      <span id={problemId} className="bad">
        {draft.problem}
      </span>
    </div>
  );
}
