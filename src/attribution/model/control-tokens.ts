/**
 * Matches what chat templates treat as the start or end of a turn, a message or a tool result: in ChatML, Qwen, Llama
 * 3, Phi, Harmony, Command R and Gemma 3 and later (`<|im_end|>`, `<turn|>`); DeepSeek, with wide bars; Llama 2 and
 * Mistral (`<<SYS>>`, `</s>`); Gemma (`<start_of_turn>`, `<eos>`). Matches shapes instead of names, because new models
 * bring new names.
 */
const ANGLED =
  /<(?=[|｜]|\/?[a-z]\w*[|｜]>|<\/?sys>>|\/?(?:s|bos|eos|pad|unk|mask|sop|eop|think|unused\d+|[a-z]+(?:_[a-z0-9]+)+)>)/gi
/**
 * Mistral's tokens, such as `[/INST]` and `[TOOL_CALLS]`, and GLM's. JSON itself never has a capitalized word in
 * brackets.
 */
const BRACKETED = /\[(?=\/?[A-Z]{2,}(?:_[A-Z]+)*\]|[gs]MASK\])/g

/** Hides control tokens from providers by writing the first character of each as a JSON escape. */
export const withoutControlTokens = (text: string): string =>
  text.replace(ANGLED, '\\u003c').replace(BRACKETED, '\\u005b')

/** Undoes `withoutControlTokens`. */
export const withControlTokens = (text: string): string => text.replace(/\\u003c/gi, '<').replace(/\\u005b/gi, '[')
