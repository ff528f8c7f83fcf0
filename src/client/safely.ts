/** Calls the caller's own code. Its errors, whether thrown now or rejected later, must not reach the pipeline. */
export function safely(call: () => unknown): void {
  try {
    Promise.resolve(call()).catch(() => {})
  } catch {}
}
