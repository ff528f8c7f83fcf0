import { invalid } from '../failure.ts'

/** A prompt in a file. */
export interface PromptText {
  stepId: string
  /** The version that the file was pulled from or pushed as. Undefined if the prompt is new. */
  versionId: string | undefined
  /** The version's exact text. */
  content: string
  /** Lines of the front matter that mean something only to the user. */
  otherLines: readonly string[]
}

/**
 * Front matter, and everything after it: the content begins on the line after the second `---`, whatever that line
 * contains.
 */
const FILE = /^\ufeff?---\r?\n((?:(?!---\r?(?:\n|$))[^\n]*\n)*)---(?:\r?\n|$)/

/** Reads a prompt's file. Throws a `Failure` that names the file. */
export function parsePrompt(bytes: Uint8Array, file: string): PromptText {
  const text = decoded(bytes, file)
  const [whole, matter = ''] = FILE.exec(text) ?? []
  if (whole === undefined) throw invalid(`${file} has no front matter`, HINT)
  const lines = matter
    .split('\n')
    .map(line => line.replace(/\r$/, ''))
    .slice(0, -1)
  const fields = new Map<string, string>()
  const otherLines: string[] = []
  for (const line of lines) {
    const [, name, value] = /^(step|version):(.*)$/.exec(line) ?? []
    if (name === undefined || value === undefined) otherLines.push(line)
    else if (fields.has(name)) throw invalid(`${file} has two lines that begin with ${name}:`)
    else fields.set(name, valueIn(value, file))
  }
  const stepId = fields.get('step')
  if (!stepId) throw invalid(`${file} doesn't say which step it's for`, HINT)
  return { stepId, versionId: fields.get('version') || undefined, content: text.slice(whole.length), otherLines }
}

const HINT = 'A prompt begins with three lines: ---, step: "name of the step", and --- again.'

/** The text of a prompt's file, in the format that `parsePrompt` reads. */
export const writePrompt = ({ stepId, versionId, content, otherLines }: PromptText): string =>
  [
    '---',
    `step: ${JSON.stringify(stepId)}`,
    ...(versionId === undefined ? [] : [`version: ${versionId}`]),
    ...otherLines,
    '---',
    content,
  ].join('\n')

/** A JSON string, or text without quotes. */
function valueIn(value: string, file: string): string {
  const text = value.trim()
  if (!text.startsWith('"')) return text
  try {
    return String(JSON.parse(text))
  } catch {
    throw invalid(`${file} has a value in its front matter that isn't a JSON string: ${text}`)
  }
}

function decoded(bytes: Uint8Array, file: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw invalid(`${file} isn't UTF-8 text`)
  }
}
