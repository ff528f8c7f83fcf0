/** A stretch of time that can be waited for, and given up. */
export interface Pause {
  over: Promise<void>
  cancel(): void
}

/** A pause from now on. In Node it keeps the process alive only if told to, as it should while the caller waits for it. */
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
