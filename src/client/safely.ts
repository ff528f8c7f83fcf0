/** Calls what is the caller's; what it throws, at once or later, must not reach the pipeline. */
export function safely(call: () => unknown): void {
  try {
    Promise.resolve(call()).catch(() => {})
  } catch {}
}
