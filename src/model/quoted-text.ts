import type { Json } from '../domain/json.ts'
import { utf8Length } from '../domain/text.ts'
import { BYTES_PER_TOKEN } from '../limits.ts'

/* Writes text from traces in a form that a model can read but won't mistake for its own instructions. */

/**
 * Matches tokens that mark the start or end of a turn, a message, or a tool call in chat templates: in ChatML, Qwen,
 * Llama 3 and 4, Phi, Granite, Harmony, Command R, and Gemma 3 and later (`<|im_end|>`, `<turn|>`); in DeepSeek and
 * Hunyuan, with full-width bars; in Llama 2 and Mistral (`<<SYS>>`, `</s>`); in Gemma, Nemotron, and Seed
 * (`<start_of_turn>`, `<SPECIAL_10>`, `<seed:bos>`). Matches the shape of a token rather than a list of names, because
 * new models add new names.
 */
const ANGLED =
  /<(?=[|｜]|\/?[a-z]\w*[|｜]>|<\/?sys>>|\/?(?:s|bos|eos|pad|unk|sep|mask|sop|eop|think|tools|unused\d+|[a-z]+(?:[_:][a-z0-9]+)+)>)/gi
/**
 * Matches Mistral's tokens, such as `[/INST]` and `[TOOL_CALLS]`, and tokens from GLM, EXAONE (`[|user|]`), and MiniMax
 * (`]~b]`). Outside strings, JSON has nothing like them.
 */
const BRACKETED = /\[(?=\/?[A-Z]{2,}(?:_[A-Z]+)*\]|control_\d|[gs]MASK\]|\||e~\[)|\](?=~!?b[[\]])/g

/** Hides control tokens from providers by writing the first character of each as a JSON escape. */
export const withoutControlTokens = (text: string): string => text.replace(ANGLED, escaped).replace(BRACKETED, escaped)

/** Undoes `withoutControlTokens`. */
export const withControlTokens = (text: string): string =>
  text.replace(/\\u(003c|005b|005d)/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/**
 * Serializes a value on a single line. Escapes control tokens, and characters that some readers treat as line breaks.
 */
export const quotedJson = (value: Json): string =>
  withoutControlTokens(JSON.stringify(value).replace(/[\u0085\u2028\u2029]/g, escaped))

/** Estimates a string's tokens, more often too high than too low. */
export const tokensOf = (text: string): number => Math.ceil(utf8Length(text) / BYTES_PER_TOKEN)
