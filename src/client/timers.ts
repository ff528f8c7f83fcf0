/** A wait that can be canceled. */
export interface Pause {
  over: Promise<void>
  cancel(): void
}

/**
 * A pause that starts now. In Node, it keeps the process alive only if `keepsAlive` is set, for a caller that awaits
 * it.
 */
export function pause(milliseconds: number, { keepsAlive }: { keepsAlive: boolean }): Pause {
  let cancel = () => {}
  const over = new Promise<void>(resolve => {
    const timer = setTimeout(resolve, milliseconds)
    cancel = () => clearTimeout(timer)
    if (!keepsAlive) unref(timer)
  })
  return { over, cancel }
}

/** Node's timers are objects; in other runtimes they're numbers. */
function unref(timer: unknown): void {
  if (typeof timer === 'object' && timer && 'unref' in timer && typeof timer.unref === 'function') timer.unref()
}
