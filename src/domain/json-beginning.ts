import type { Json } from './json.ts'

/** A value parsed from the beginning of its JSON. `value` is undefined if there is too little of it to show. */
export interface Beginning {
  value: Json | undefined
  isWhole: boolean
}

/**
 * Parses the beginning of a value's JSON: as much of its strings, lists, and objects as the text contains. Leaves out
 * a number at the end, which may have lost digits.
 */
export function parseBeginning(json: string): Beginning {
  const whole = parse(json)
  if (whole !== undefined) return { value: whole, isWhole: true }
  const { closed, complete } = closings(json)
  return { value: parse(closed) ?? parse(complete), isWhole: false }
}

function parse(json: string): Json | undefined {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}

/**
 * The text with its open parts closed: `closed` ends where the text ends, and `complete` ends after its last complete
 * item.
 */
function closings(json: string): { closed: string; complete: string } {
  /** The brackets that close the open lists and objects, the innermost first. */
  let closers = ''
  let complete = ''
  let end = json.length
  let isInString = false
  for (let index = 0; index < json.length; index++) {
    const character = json[index]
    if (character === '"') isInString = !isInString
    else if (isInString) {
      if (character !== '\\') continue
      const length = json[index + 1] === 'u' ? 6 : 2
      if (index + length > json.length) end = index
      index += length - 1
    } else if (character === '{' || character === '[') {
      closers = (character === '{' ? '}' : ']') + closers
      complete = json.slice(0, index + 1) + closers
    } else if (character === '}' || character === ']') closers = closers.slice(1)
    else if (character === ',') complete = json.slice(0, index) + closers
  }
  if (isInString) return { closed: `${json.slice(0, end)}"${closers}`, complete }
  const isInNumber = /[\d.]$/.test(json)
  return { closed: isInNumber ? complete : json + closers, complete }
}
