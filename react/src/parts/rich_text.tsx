import { Fragment, type ReactNode } from "react";

// Trailing punctuation belongs to the sentence, not to the address.
const ADDRESS = /\bhttps?:\/\/[^\s<>"]*[^\s<>"'.,:;!?)\]}»“”]/giu;

/** Show text with its line breaks, and with links for web addresses. */
export function RichText({ text }: { text: string }): ReactNode {
  const parts: ReactNode[] = [];
  let end = 0;
  for (const match of text.matchAll(ADDRESS)) {
    parts.push(<Fragment key={end}>{text.slice(end, match.index)}</Fragment>);
    parts.push(
      <a key={match.index} href={match[0]} target="_blank" rel="noopener noreferrer nofollow">
        {match[0]}
      </a>,
    );
    end = match.index + match[0].length;
  }
  return (
    <>
      {parts}
      {text.slice(end)}
    </>
  );
}

// An emoji may have a skin tone, a presentation selector, and parts that a joiner adds.
const ONLY_EMOJI =
  /^(?:\p{Extended_Pictographic}(?:\p{EMod}|\uFE0F|\u200D\p{Extended_Pictographic})*\s*){1,3}$/u;

/** Return whether a text is one to three emoji, which are shown large. */
export function isOnlyEmoji(text: string): boolean {
  return text.length < 40 && ONLY_EMOJI.test(text);
}
