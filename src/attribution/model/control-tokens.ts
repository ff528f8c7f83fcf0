/**
 * Matches tokens that mark the start or end of a turn, a message, or a tool result in chat templates: in ChatML, Qwen,
 * Llama 3, Phi, Harmony, Command R, and Gemma 3 and later (`<|im_end|>`, `<turn|>`); in DeepSeek, with full-width bars;
 * in Llama 2 and Mistral (`<<SYS>>`, `</s>`); and in Gemma (`<start_of_turn>`, `<eos>`). Matches the shape of a token
 * rather than a list of names, because new models add new names.
 */
const ANGLED =
  /<(?=[|｜]|\/?[a-z]\w*[|｜]>|<\/?sys>>|\/?(?:s|bos|eos|pad|unk|mask|sop|eop|think|unused\d+|[a-z]+(?:_[a-z0-9]+)+)>)/gi
/**
 * Mistral's tokens, such as `[/INST]` and `[TOOL_CALLS]`, and GLM's. Outside strings, JSON never has a capitalized word
 * in brackets.
 */
const BRACKETED = /\[(?=\/?[A-Z]{2,}(?:_[A-Z]+)*\]|[gs]MASK\])/g

/** Hides control tokens from providers by writing the first character of each as a JSON escape. */
export const withoutControlTokens = (text: string): string =>
  text.replace(ANGLED, '\\u003c').replace(BRACKETED, '\\u005b')

/** Undoes `withoutControlTokens`. */
export const withControlTokens = (text: string): string => text.replace(/\\u003c/gi, '<').replace(/\\u005b/gi, '[')
