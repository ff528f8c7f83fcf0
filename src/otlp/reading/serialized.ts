import { findJsonFault, type Json } from '../../domain/json.ts'
import { findExcess } from '../../domain/json-structure.ts'
import { MAX_JSON_DEPTH } from '../../limits.ts'
import { objectValue } from './values.ts'

/* Values that are no attribute's: serialised as JSON, or sent in parts, each under a key of its own. */

/**
 * A serialised value: texts that are JSON objects, lists or quoted texts are parsed, twice where they were serialised twice.
 * Any other text stays as it is: a number says nothing more than its text, and might be one.
 */
export function parsed(value: Json): Json {
  const once = parsedOnce(value)
  return once === value ? value : parsedOnce(once)
}

function parsedOnce(value: Json): Json {
  if (typeof value !== 'string' || !/^\s*[[{"]/.test(value)) return value
  if (findExcess(value, MAX_JSON_DEPTH)) return value
  try {
    const result: Json = JSON.parse(value)
    // Nested too deep, or with a number that JSON cannot write again: the text says it better.
    return findJsonFault(result) ? value : result
  } catch {
    return value
  }
}

type Branch = Map<string, Branch | { leaf: Json }>

/**
 * The value whose parts were sent under keys like `0.message.role`; undefined where there are none. Where all keys of a level
 * are indices they make a list in the order of the numbers, whatever these are: one that is left out or far too large takes
 * no room. Nulls are left out.
 */
export function unflatten(entries: Iterable<readonly [string, Json]>): Json | undefined {
  const root: Branch = new Map()
  for (const [key, leaf] of entries) if (leaf !== null) graft(root, key, leaf)
  return root.size === 0 ? undefined : grown(root)
}

function graft(root: Branch, key: string, leaf: Json): void {
  const steps = key.split('.')
  // A key of a thousand dots would nest as deep: the rest of it is one name.
  const path = [...steps.slice(0, MAX_JSON_DEPTH / 2), ...joined(steps.slice(MAX_JSON_DEPTH / 2))]
  let branch = root
  for (const step of path.slice(0, -1)) {
    const next = branch.get(step)
    if (next instanceof Map) {
      branch = next
      continue
    }
    // Where a key is another one's beginning, its own value goes under an empty name.
    const added: Branch = new Map(next && [['', next]])
    branch.set(step, added)
    branch = added
  }
  const last = path.at(-1) ?? ''
  const there = branch.get(last)
  if (there instanceof Map) there.set('', { leaf })
  else branch.set(last, { leaf })
}

const joined = (steps: string[]): string[] => (steps.length === 0 ? [] : [steps.join('.')])

function grown(branch: Branch): Json {
  const entries = [...branch].map(([key, node]) => [key, node instanceof Map ? grown(node) : node.leaf] as const)
  if (!entries.every(([key]) => /^\d+$/.test(key))) return objectValue(entries)
  return entries
    .sort(([left], [right]) => left.length - right.length || (left < right ? -1 : 1))
    .map(([, item]) => item)
}
