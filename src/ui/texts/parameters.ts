/** Changes some of a URL's parameters. Null removes one. */
export const withParameters =
  (changes: Readonly<Record<string, string | null>>) =>
  (current: URLSearchParams): URLSearchParams => {
    const next = new URLSearchParams(current)
    for (const [name, value] of Object.entries(changes)) {
      if (value === null) next.delete(name)
      else next.set(name, value)
    }
    return next
  }
