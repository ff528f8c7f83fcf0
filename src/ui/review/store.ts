/** A changing value outside React, for `useSyncExternalStore`. */
export interface Store<Value> {
  get: () => Value
  change: (change: (value: Value) => Value) => void
  subscribe: (listener: () => void) => () => void
}

export function createStore<Value>(initial: Value): Store<Value> {
  const listeners = new Set<() => void>()
  let value = initial
  return {
    get: () => value,
    change: change => {
      const next = change(value)
      if (next === value) return
      value = next
      for (const listener of listeners) listener()
    },
    subscribe: listener => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
