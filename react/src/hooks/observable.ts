import type { Observable } from "@tidings/client";
import { useCallback, useSyncExternalStore } from "react";

const subscribeToNothing = () => () => {};
const getUndefined = () => undefined;

/**
 * Return the value of an observable and render again when it changes.
 *
 * The component renders only for changes of this observable: subscribe to the smallest one that has the data.
 */
export function useObservable<T>(observable: Observable<T>): T;
export function useObservable<T>(observable: Observable<T> | undefined): T | undefined;
export function useObservable<T>(observable: Observable<T> | undefined): T | undefined {
  const subscribe = useCallback(
    (listener: () => void) => (observable ? observable.subscribe(listener) : subscribeToNothing()),
    [observable],
  );
  const get = useCallback(() => observable?.get(), [observable]);
  return useSyncExternalStore<T | undefined>(subscribe, get, get);
}

/**
 * Return a primitive value computed from an observable, and render again only when the result changes.
 *
 * `select` must return a primitive: two equal objects would count as a change.
 */
export function useSelected<T, R extends string | number | boolean | undefined>(
  observable: Observable<T> | undefined,
  select: (value: T) => R,
): R | undefined {
  const subscribe = useCallback(
    (listener: () => void) => (observable ? observable.subscribe(listener) : subscribeToNothing()),
    [observable],
  );
  const get = observable ? () => select(observable.get()) : getUndefined;
  return useSyncExternalStore<R | undefined>(subscribe, get, get);
}
