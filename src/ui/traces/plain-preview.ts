const TOKEN = /"((?:[^"\\]|\\.)*)"?|[{}[\]]|([,:])/g

/**
 * The beginning of a value as running text. JSON's punctuation would take half of a narrow column, so it's left out:
 * `{"answer":"24 months","sources":["warranty"]}` becomes `answer: 24 months, sources: warranty`.
 */
export const plainPreview = (text: string): string =>
  /^[[{]/.test(text)
    ? text.replace(TOKEN, (_, string?: string, separator?: string) =>
        separator === undefined ? unescaped(string ?? '') : `${separator} `,
      )
    : text

const unescaped = (string: string): string =>
  string.replace(/\\(u[0-9a-fA-F]{4}|.)/g, (_, mark: string) =>
    mark.length > 1 ? String.fromCharCode(Number.parseInt(mark.slice(1), 16)) : /[bfnrt]/.test(mark) ? ' ' : mark,
  )
