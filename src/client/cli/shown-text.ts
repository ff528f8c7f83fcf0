/**
 * Characters that a terminal may act on: control characters, including the C1 ones that begin escape sequences in some
 * terminals, and marks that change the direction of text. Newlines and tabs stay.
 */
const ACTIVE = /(?![\n\t])[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu

/** Text that's safe to print: it can't move the cursor, change colors, or pretend to be other text. */
export const shownText = (text: string): string => text.replace(/\r\n/g, '\n').replace(ACTIVE, escaped)

/** Text on one line, truncated to a length. */
export function shownLine(text: string, maxLength: number): string {
  const line = shownText(text.replace(/\s+/g, ' ').trim())
  return line.length > maxLength ? `${line.slice(0, maxLength - 1).replace(/[\ud800-\udbff]$/, '')}…` : line
}

/**
 * JSON that's safe to print: JSON itself escapes only some control characters. The others occur only in strings, so
 * their escapes mean the same thing.
 */
export const shownJson = (json: string): string => json.replace(ACTIVE, unicodeEscape)

const escaped = (character: string): string =>
  character < '\x80' ? `\\x${hexOf(character, 2)}` : unicodeEscape(character)

const unicodeEscape = (character: string): string => `\\u${hexOf(character, 4)}`

const hexOf = (character: string, digits: number): string => character.charCodeAt(0).toString(16).padStart(digits, '0')
