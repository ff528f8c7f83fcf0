import type { Change, Parts, Plan } from './plans.ts'
import { bytesOf, type Sent } from './sent.ts'
import { Known, spelled } from './values.ts'

export const urlOf = ({ path, query }: Pick<Sent, 'path' | 'query'>): string =>
  `https://countersign.test${path}?${query}`

/** Builds the request for a plan whose placeholders are filled in. The caller sends `headers` with every request. */
export function requestOf({ operation, caller, parts, bend }: Plan, headers: Record<string, string>): Sent {
  const sent = {
    caller,
    method: operation.method,
    path: pathOf(operation.path, parts.path),
    query: queryOf(parts.query),
    headers: {
      ...(operation.requestBody && { 'content-type': 'application/json' }),
      ...headers,
      ...headersOf(parts.headers),
    },
    body: bytesOf(parts.body === undefined ? '' : spelled(parts.body)),
  }
  return bend?.(sent) ?? sent
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

/** Returns a copy with the placeholders filled in. */
export function filled({ path, query, headers, body }: Parts, recalled: (known: Known) => string): Parts {
  const copy = (item: unknown): unknown => {
    if (item instanceof Known) return recalled(item)
    if (Array.isArray(item)) return item.map(copy)
    return isObject(item) ? copies(item) : item
  }
  const copies = (fields: object) =>
    Object.fromEntries(Object.entries(fields).map(([name, item]) => [name, copy(item)]))
  return { path: copies(path), query: copies(query), headers: copies(headers), body: copy(body) }
}

/** Changes one value in place. */
export function change(parts: Parts, { place, how, name, value }: Change): void {
  const places = placesIn(parts)
  const [holder, key] = places[place % places.length] ?? [parts, 'query']
  const present: unknown = Reflect.get(holder, key)
  const isFixed = holder === parts && key !== 'body'
  if (how === 'add' || isFixed) add(isObject(present) ? present : holder, name, structuredClone(value))
  else if (how === 'remove') Reflect.deleteProperty(holder, key)
  else if (how === 'repeat') set(holder, key, [present, present])
  else set(holder, key, how === 'replace' ? structuredClone(value) : nudged(present, how === 'grow'))
}

/** Every field in a value, outer fields first. */
function placesIn(root: object): [holder: object, key: string][] {
  const places = Object.keys(root).map((key): [object, string] => [root, key])
  for (const [holder, key] of places) {
    const value: unknown = Reflect.get(holder, key)
    if (isObject(value)) places.push(...Object.keys(value).map((inner): [object, string] => [value, inner]))
  }
  return places
}

function add(holder: object, name: string, value: unknown): void {
  if (Array.isArray(holder)) holder.push(value)
  else set(holder, name, value)
}

/** Unlike an assignment, this can create a field named __proto__. */
export const set = (holder: object, key: string, value: unknown) =>
  Reflect.defineProperty(holder, key, { value, configurable: true, enumerable: true, writable: true })

/** Changes a value slightly. A value that was at a limit may then exceed the limit. */
function nudged(value: unknown, isMore: boolean): unknown {
  if (typeof value === 'string') return isMore ? `${value}x` : value.slice(0, -1)
  if (typeof value === 'number') return isMore ? value + 1 : value - 1
  if (typeof value === 'boolean') return isMore ? String(value) : Number(value)
  if (Array.isArray(value)) return isMore ? Array.from({ length: 1001 }, () => value.at(-1)) : []
  return isMore ? [value] : null
}

/** A value as text, for places that accept only text. */
const textFor = (value: unknown): string => (typeof value === 'string' ? value : spelled(value ?? null)).toWellFormed()

const pathOf = (template: string, parameters: object): string =>
  template.replace(/{(\w+)}/g, (_, name: string) => segmentOf(textFor(Reflect.get(parameters, name) ?? '')))

/** A string as a segment of a path. A URL can't contain . and .. as segments, so they become hyphens. */
const segmentOf = (text: string): string =>
  encodeURIComponent(/^\.{1,2}$/.test(text) ? text.replaceAll('.', '-') : text)

/**
 * A list repeats its parameter, and an object's fields are separate parameters, as `explode` in the document specifies.
 */
function queryOf(parameters: object): string {
  const pairs = Object.entries(parameters).flatMap(([name, value]): [string, unknown][] => {
    if (Array.isArray(value)) return value.map(item => [name, item])
    return isObject(value) ? Object.entries(value) : value === undefined ? [] : [[name, value]]
  })
  return String(new URLSearchParams(pairs.map(([name, value]) => [name, textFor(value)])))
}

/** The headers that the platform can send. */
function headersOf(parameters: object): Record<string, string> {
  const sendable = Object.entries(parameters).filter(([name, value]) => /^[\w-]+$/.test(name) && value !== undefined)
  return Object.fromEntries(sendable.map(([name, value]) => [name, textFor(value).replace(/[^\t -~]/g, '?')]))
}

/** The whole request as text. */
export const textOf = (sent: Sent): string => `${urlOf(sent)} ${new TextDecoder().decode(sent.body)}`

/** A request as a shell command, in which <x*300> means 300 repetitions of a character. */
export function described(sent: Sent): string {
  const { caller, method, headers, body } = sent
  const options = Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`)
  if (body.length > 0)
    options.push(`--data-binary ${quoted(Array.from(body, byte => String.fromCharCode(byte)).join(''))}`)
  return [`curl -X ${method} ${quoted(urlOf(sent))}`, ...options, `# ${caller}`].join(' ')
}

function quoted(bytes: string): string {
  const brief = bytes.replace(/(.)\1{99,}/gs, (run, byte) => `<${byte}*${run.length}>`)
  if (/^[ -&(-~]*$/.test(brief)) return `'${brief}'`
  const hex = (byte: string) => `\\x${byte.charCodeAt(0).toString(16).padStart(2, '0')}`
  return `$'${brief.replace(/[\\']/g, '\\$&').replace(/[^ -~]/g, hex)}'`
}
