/**
 * What chat templates take for the begin or end of a turn, a message or a tool's answer: of ChatML, Qwen, Llama 3, Phi, Harmony,
 * Command R and Gemma 3 on (`<|im_end|>`, `<turn|>`); of DeepSeek, whose bars are wide; of Llama 2 and Mistral (`<<SYS>>`,
 * `</s>`); of Gemma (`<start_of_turn>`, `<eos>`). Shapes rather than names: a new model brings new names.
 */
const ANGLED =
  /<(?=[|｜]|\/?[a-z]\w*[|｜]>|<\/?sys>>|\/?(?:s|bos|eos|pad|unk|mask|sop|eop|think|unused\d+|[a-z]+(?:_[a-z0-9]+)+)>)/gi
/** Mistral's, as `[/INST]` and `[TOOL_CALLS]`, and GLM's. JSON itself has no word in capitals in brackets. */
const BRACKETED = /\[(?=\/?[A-Z]{2,}(?:_[A-Z]+)*\]|[gs]MASK\])/g

/** A text in which no provider finds a control token: the first character of each is an escape, as JSON has it. */
export const withoutControlTokens = (text: string): string =>
  text.replace(ANGLED, '\\u003c').replace(BRACKETED, '\\u005b')

/** A text as it was before. */
export const withControlTokens = (text: string): string => text.replace(/\\u003c/gi, '<').replace(/\\u005b/gi, '[')
