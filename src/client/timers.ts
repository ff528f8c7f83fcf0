/** A time to wait for, which can be canceled. */
export interface Pause {
  over: Promise<void>
  cancel(): void
}

/** A pause from now on. In Node it keeps the process alive only if `keepsAlive` is set, for a caller who waits for it. */
export function pause(milliseconds: number, { keepsAlive }: { keepsAlive: boolean }): Pause {
  let cancel = () => {}
  const over = new Promise<void>(resolve => {
    const timer = setTimeout(resolve, milliseconds)
    cancel = () => clearTimeout(timer)
    if (!keepsAlive) unref(timer)
  })
  return { over, cancel }
}

/** Node's timers are objects, others' are numbers. */
function unref(timer: unknown): void {
  if (typeof timer === 'object' && timer && 'unref' in timer && typeof timer.unref === 'function') timer.unref()
}
