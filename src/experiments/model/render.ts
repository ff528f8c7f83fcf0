import { textOf } from '../../domain/chat.ts'
import { isJsonObject, type Json } from '../../domain/json.ts'
import { utf8Length } from '../../domain/text.ts'
import { MAX_RUN_PROMPT_BYTES } from '../../limits.ts'

/** A prompt with an item's values in it: the system message, or null if there is none, and the user message. */
interface Rendered {
  instructions: string | null
  material: string
}

/** An item's values as JSON. */
interface Values {
  input: string
  state: Readonly<Record<string, string>>
  /** The fields that are too large to be read. */
  truncated: readonly string[]
}

/** `{{input}}`, `{{input.question}}`, `{{state.chunks.0.text}}`. Anything else in braces is plain text. */
const PLACEHOLDER = /\{\{\s*((?:input|state)(?:\.[^\s{}]+)?)\s*\}\}/g

/**
 * Puts an item's values into a prompt. A prompt without a placeholder becomes the system message, and the input becomes
 * the user message. A fault says why the item can't be asked about.
 */
export function renderPrompt(content: string, values: Values): Rendered | { fault: string } {
  const paths = new Set(Array.from(content.matchAll(PLACEHOLDER), ([, path = '']) => path))
  const rendered = paths.size === 0 ? withInput(content, values) : fillIn(content, paths, values)
  if ('fault' in rendered) return rendered
  const bytes = utf8Length(rendered.material) + utf8Length(rendered.instructions ?? '')
  if (bytes <= MAX_RUN_PROMPT_BYTES) return rendered
  return { fault: `With this item, the prompt has ${bytes} bytes; the limit is ${MAX_RUN_PROMPT_BYTES}` }
}

function withInput(instructions: string, { input, truncated }: Values): Rendered | { fault: string } {
  if (truncated.includes('input')) return { fault: tooLarge('input') }
  return { instructions, material: textOf(input) }
}

function fillIn(content: string, paths: ReadonlySet<string>, values: Values): Rendered | { fault: string } {
  const roots = new Map<string, Json | undefined>()
  const texts = new Map<string, string>()
  for (const path of paths) {
    const [root, ...keys] = rootAndKeys(path)
    if (values.truncated.some(field => field === root || (root === 'state' && field.startsWith('state.')))) {
      return { fault: tooLarge(root) }
    }
    if (!roots.has(root)) roots.set(root, readRoot(root, values))
    const value = valueAt(roots.get(root), keys)
    if (value === undefined) return { fault: `The item has no value for {{${path}}}` }
    texts.set(path, typeof value === 'string' ? value : JSON.stringify(value))
  }
  // A single pass, so that a placeholder in a value stays text.
  return { instructions: null, material: content.replace(PLACEHOLDER, (_, path: string) => texts.get(path) ?? '') }
}

/** Splits a path into the separately stored value, `input` or `state.<key>`, and the keys within it. */
function rootAndKeys(path: string): [root: string, ...keys: string[]] {
  const [first = '', second, ...rest] = path.split('.')
  if (first === 'input') return second === undefined ? ['input'] : ['input', second, ...rest]
  return second === undefined ? ['state'] : [`state.${second}`, ...rest]
}

function readRoot(root: string, { input, state }: Values): Json | undefined {
  if (root === 'input') return JSON.parse(input)
  if (root === 'state') {
    return Object.fromEntries(Object.entries(state).map(([key, value]): [string, Json] => [key, JSON.parse(value)]))
  }
  const key = root.slice('state.'.length)
  const text = Object.hasOwn(state, key) ? state[key] : undefined
  return text === undefined ? undefined : JSON.parse(text)
}

function valueAt(root: Json | undefined, keys: readonly string[]): Json | undefined {
  let value = root
  for (const key of keys) {
    if (Array.isArray(value)) value = /^\d+$/.test(key) ? value[Number(key)] : undefined
    else value = isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
  }
  return value
}

const tooLarge = (field: string): string => `The item's ${field} is too large for a prompt`
