/** Return the value of a key, and create it first if there is none. */
export function getOrCreate<K, V>(map: Map<K, V>, key: K, create: () => V): V {
  let value = map.get(key);
  if (value === undefined) {
    value = create();
    map.set(key, value);
  }
  return value;
}

/** Split a list into parts of at most `size`. */
export function partsOf<T>(list: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(list.length / size) }, (_, part) =>
    list.slice(part * size, (part + 1) * size),
  );
}

/** Return entries in the order of the log. */
export function ascending<T extends { readonly sequence: number }>(entries: readonly T[]): T[] {
  return [...entries].sort((a, b) => a.sequence - b.sequence);
}
