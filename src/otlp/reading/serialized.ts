import { findJsonFault, type Json } from '../../domain/json.ts'
import { findExcess } from '../../domain/json-structure.ts'
import { MAX_JSON_DEPTH } from '../../limits.ts'
import { objectValue } from './values.ts'

/*
 * Values that were serialized as JSON or split across several keys instead of being sent as plain attributes.
 */

/**
 * Parses a serialized value: a string that holds a JSON object, list, or quoted string, serialized once or twice. Any
 * other string is kept, because a string such as "42" may be meant as text.
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
    // The JSON is nested too deeply or contains a number that JSON can't represent, so keep the text.
    return findJsonFault(result) ? value : result
  } catch {
    return value
  }
}

type Branch = Map<string, Branch | { leaf: Json }>

/**
 * Rebuilds a value whose parts were sent under keys such as `0.message.role`. Undefined if there are none. If all keys
 * at a level are indices, they form a list in numeric order; missing or huge indices leave no gaps. Nulls are left out.
 */
export function unflatten(entries: Iterable<readonly [string, Json]>): Json | undefined {
  const root: Branch = new Map()
  for (const [key, leaf] of entries) if (leaf !== null) insertLeaf(root, key, leaf)
  return root.size === 0 ? undefined : toJson(root)
}

function insertLeaf(root: Branch, key: string, leaf: Json): void {
  const steps = key.split('.')
  // A key with a thousand dots would nest a thousand levels deep, so the rest of it becomes a single name.
  const path = [...steps.slice(0, MAX_JSON_DEPTH / 2), ...joined(steps.slice(MAX_JSON_DEPTH / 2))]
  let branch = root
  for (const step of path.slice(0, -1)) {
    const next = branch.get(step)
    if (next instanceof Map) {
      branch = next
      continue
    }
    // If a key is also the prefix of another key, its own value goes under an empty name.
    const added: Branch = new Map(next && [['', next]])
    branch.set(step, added)
    branch = added
  }
  const last = path.at(-1) ?? ''
  const existing = branch.get(last)
  if (existing instanceof Map) existing.set('', { leaf })
  else branch.set(last, { leaf })
}

const joined = (steps: string[]): string[] => (steps.length === 0 ? [] : [steps.join('.')])

function toJson(branch: Branch): Json {
  const entries = [...branch].map(([key, node]) => [key, node instanceof Map ? toJson(node) : node.leaf] as const)
  if (!entries.every(([key]) => /^\d+$/.test(key))) return objectValue(entries)
  return entries
    .sort(([left], [right]) => left.length - right.length || (left < right ? -1 : 1))
    .map(([, item]) => item)
}
