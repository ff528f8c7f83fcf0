import { createHash } from 'node:crypto'

/** File systems allow 255 bytes, and the extension needs some of them. */
const MAX_LENGTH = 180
/** Names that Windows reserves for devices, and `readme`, which is for documentation. */
const RESERVED = /^(con|prn|aux|nul|com\d|lpt\d|readme)(\.|$)/

/**
 * A file name for a step, without the extension. Different steps have different names, even if they differ only in
 * case, on every file system. A capital letter becomes `+` and the lowercase letter. Everything but letters, digits,
 * dots, dashes, and underscores is encoded as in URLs. The file's front matter has the step's name, so nobody has to
 * decode the file name.
 */
export function fileNameOf(stepId: string): string {
  const name = [...stepId].map(encode).join('').replace(/^\./, '%2e').replace(RESERVED, encodeFirst)
  if (name.length <= MAX_LENGTH) return name
  const hash = createHash('sha256').update(stepId).digest('hex').slice(0, 16)
  // A `~` in the step's name is encoded, so it can't be mistaken for the one before the hash.
  return `${name.slice(0, MAX_LENGTH - hash.length - 1)}~${hash}`
}

function encode(character: string): string {
  if (/[a-z0-9._-]/.test(character)) return character
  if (/[A-Z]/.test(character)) return `+${character.toLowerCase()}`
  return percent(character)
}

const encodeFirst = (name: string): string => percent(name.charAt(0)) + name.slice(1)

const percent = (character: string): string =>
  [...Buffer.from(character)].map(byte => `%${byte.toString(16).padStart(2, '0')}`).join('')
