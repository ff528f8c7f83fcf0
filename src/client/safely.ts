/** Calls the caller's own code, whose errors, at once or later, must not reach the pipeline. */
export function safely(call: () => unknown): void {
  try {
    Promise.resolve(call()).catch(() => {})
  } catch {}
}
