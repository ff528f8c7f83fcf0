const encoder = new TextEncoder()

/** The length of a string in UTF-8 bytes. */
export function utf8Length(text: string): number {
  // Counting is faster than encoding for short strings, and a response measures one string for each of its values.
  return text.length > MAX_COUNTED_LENGTH ? encoder.encode(text).byteLength : countedLength(text)
}

const MAX_COUNTED_LENGTH = 1024

function countedLength(text: string): number {
  let bytes = text.length
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    if (unit < 0x80) continue
    bytes++
    // The two halves of a surrogate pair take four bytes. A lone half is replaced by three.
    const isPair = unit >= 0xd800 && unit < 0xdc00 && (text.charCodeAt(index + 1) & 0xfc00) === 0xdc00
    if (isPair) {
      bytes++
      index++
    } else if (unit >= 0x800) bytes++
  }
  return bytes
}

/** The longest prefix of a string that fits `maxBytes` of UTF-8 and splits no character. */
export function cutText(text: string, maxBytes: number): string {
  // A UTF-16 unit takes at least one byte, so no more units than that can fit.
  const bytes = encoder.encode(text.slice(0, maxBytes)).subarray(0, maxBytes)
  // In streaming mode, the decoder drops an incomplete character instead of replacing it.
  return new TextDecoder().decode(bytes, { stream: true })
}

/** Compares strings by code point, which is also the order of their UTF-8 bytes, as in SQLite. */
export function compareCodePoints(left: string, right: string): number {
  const [leftCharacters, rightCharacters] = [[...left], [...right]]
  const index = leftCharacters.findIndex((character, place) => character !== rightCharacters[place])
  if (index === -1) return leftCharacters.length - rightCharacters.length
  return (leftCharacters[index]?.codePointAt(0) ?? 0) - (rightCharacters[index]?.codePointAt(0) ?? -1)
}
