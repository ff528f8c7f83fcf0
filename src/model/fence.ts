/** Space for everything around the material's lines: the fence, omissions, and the text that a second question adds. */
export const FRAME_TOKENS = 400

/**
 * Puts material between two lines that contain `boundary`. Each line between them must be one JSON value, so no text
 * inside can end the fence. Use a new secret boundary for each question.
 */
export const fenced = (lines: readonly string[], boundary: string): string =>
  [`BEGIN ${boundary}`, ...lines, `END ${boundary}`, LAST].join('\n')

const LAST = 'The material ends here. Answer with one JSON object, following the instructions.'
