/** The keys that the virtual list shows, and how they differ from the keys before. */
export interface ShownKeys {
  /** The list as the timeline has it. */
  readonly target: readonly string[];
  /** The list to render now. It differs from `target` for one render if keys were added at both ends. */
  readonly keys: readonly string[];
  /** Whether the first keys changed, so that the list must keep the position from the end. */
  readonly shift: boolean;
  /** Changes when the list was replaced, for example by a jump: measured heights no longer apply. */
  readonly generation: number;
}

export function firstKeys(keys: readonly string[]): ShownKeys {
  return { target: keys, keys, shift: false, generation: 0 };
}

/**
 * Return what to render after the timeline changed to `target`.
 *
 * The virtual list keeps the reading position either from the start or from the end, so one render must not change
 * both ends. If older and newer messages arrive together, the older ones are rendered first. The caller renders again
 * while `keys` and `target` differ.
 */
export function nextKeys(shown: ShownKeys, target: readonly string[]): ShownKeys {
  const { keys, generation } = shown;
  const first = keys[0];
  if (first === undefined || target.length === 0) {
    return { target, keys: target, shift: false, generation: generation + 1 };
  }
  if (first === target[0]) return { target, keys: target, shift: false, generation };
  const added = target.indexOf(first);
  if (added > 0) {
    const withOlder = target.slice(0, added).concat(keys);
    const isWhole = withOlder.length === target.length && withOlder.at(-1) === target.at(-1);
    return { target, keys: isWhole ? target : withOlder, shift: true, generation };
  }
  const newFirst = target[0] as string;
  const dropped = keys.indexOf(newFirst);
  if (dropped > 0) {
    const withoutOldest = keys.slice(dropped);
    const isWhole = withoutOldest.length === target.length && withoutOldest.at(-1) === target.at(-1);
    return { target, keys: isWhole ? target : withoutOldest, shift: true, generation };
  }
  return { target, keys: target, shift: false, generation: generation + 1 };
}
