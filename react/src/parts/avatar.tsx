import { type CSSProperties, type ReactNode, useState } from "react";

export interface AvatarProps {
  /** Chooses the colour: the same id always has the same one. */
  id: string;
  name: string;
  imageUrl?: string | undefined;
  /** A dot at the corner. */
  presence?: "online" | "away" | undefined;
  size?: "small" | "medium" | undefined;
}

/** A round picture, or the initials on a colour. Decorative: the name is next to it. */
export function Avatar({ id, name, imageUrl, presence, size = "medium" }: AvatarProps): ReactNode {
  const [failedUrl, setFailedUrl] = useState<string>();
  const style = { "--td-avatar-hue": hueOf(id) } as CSSProperties;
  return (
    <span className="td-avatar" data-size={size} style={style} aria-hidden="true">
      {imageUrl && imageUrl !== failedUrl ? (
        <img className="td-avatar-image" src={imageUrl} alt="" onError={() => setFailedUrl(imageUrl)} />
      ) : (
        <span className="td-avatar-initials">{initialsOf(name)}</span>
      )}
      {presence && <span className="td-presence-dot" data-presence={presence} />}
    </span>
  );
}

/** Return the first letters of the first and the last word. */
export function initialsOf(name: string): string {
  const words = name
    .trim()
    .split(/[\s._-]+/u)
    .filter(Boolean);
  const first = firstLetter(words[0] ?? "");
  return (words.length > 1 ? first + firstLetter(words.at(-1) ?? "") : first).toLocaleUpperCase();
}

let segmenter: Intl.Segmenter | undefined;

function firstLetter(word: string): string {
  // By grapheme: the first code unit of an emoji or of a combined letter is not a letter. Kept: it is slow to create.
  segmenter ??= new Intl.Segmenter();
  const [first] = segmenter.segment(word);
  return first?.segment ?? "";
}

function hueOf(id: string): number {
  let hash = 0;
  for (const letter of id) hash = (hash * 31 + (letter.codePointAt(0) ?? 0)) >>> 0;
  // Steps of the golden angle keep similar ids apart.
  return Math.round((hash * 137.508) % 360);
}
