/** Longer text is shown unformatted, because parsing it would block the page. */
export const MAX_MARKDOWN_LENGTH = 20_000

/** Blocks at the start of a line, or bold text, code, and links within a line. Each repetition has a limit. */
const SYNTAX =
  /(?:^|\n) {0,3}(?:#{1,6} \S|[-*+] \S|\d{1,9}[.)] \S|> ?\S|```|~~~|\|.{1,2000}\|)|\*\*\S|`[^`\n]{1,300}`|\[[^[\]\n]{1,300}\]\([^()\s]{1,300}\)/

/** Whether text uses Markdown. Other text stays unformatted, so that no character is lost: `__init__`, `2 * 3`. */
export const isMarkdown = (text: string): boolean => text.length <= MAX_MARKDOWN_LENGTH && SYNTAX.test(text)
