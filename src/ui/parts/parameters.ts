/** Changes some of a URL's parameters. An empty value removes a parameter. */
export const withParameters =
  (changes: Readonly<Record<string, string | null | undefined>>) =>
  (current: URLSearchParams): URLSearchParams => {
    const next = new URLSearchParams(current)
    for (const [name, value] of Object.entries(changes)) {
      if (value) next.set(name, value)
      else next.delete(name)
    }
    return next
  }

/** A URL's parameters with these names, in the order of `names`. */
export const parametersIn = <Name extends string>(
  names: readonly Name[],
  address: URLSearchParams,
): [name: Name, value: string][] =>
  names.flatMap(name => {
    const value = address.get(name)
    return value ? [[name, value] as [Name, string]] : []
  })

/** A URL without filters. */
export const withoutFilters =
  (isFilter: (name: string) => boolean) =>
  (address: URLSearchParams): URLSearchParams =>
    new URLSearchParams([...address].filter(([name]) => !isFilter(name)))
