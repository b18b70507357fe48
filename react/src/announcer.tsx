import { type CSSProperties, forwardRef, useImperativeHandle, useState } from "react";

export interface AnnouncerHandle {
  announce(text: string): void;
}

// Inline, because an app that uses only the hooks has no stylesheet of this package.
const hidden: CSSProperties = {
  position: "absolute",
  width: 1,
  height: 1,
  margin: -1,
  overflow: "hidden",
  clipPath: "inset(50%)",
  whiteSpace: "nowrap",
};

/**
 * The only live region of the page. Several regions would speak over each other.
 *
 * Two elements take turns, so that a screen reader also speaks a text that equals the previous one.
 */
export const Announcer = /* @__PURE__ */ forwardRef<AnnouncerHandle>(function Announcer(_, ref) {
  const [[turn, text], setState] = useState<[turn: number, text: string]>([0, ""]);
  useImperativeHandle(ref, () => ({ announce: (next) => setState(([current]) => [1 - current, next]) }), []);
  return (
    <div style={hidden} aria-live="polite" data-tidings-announcer="">
      <span>{turn === 0 ? text : ""}</span>
      <span>{turn === 1 ? text : ""}</span>
    </div>
  );
});
