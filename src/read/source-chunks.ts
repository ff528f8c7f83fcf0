import { citationsIn as citationsInText } from '../domain/citations.ts'
import { isJsonObject, type Json } from '../domain/json.ts'
import { itemsOf, RETRIEVAL_NAMES, textIn } from '../domain/retrieved-content.ts'
import { MAX_CITED_AS, MAX_LABEL_LENGTH, MAX_SOURCE_CHUNKS, MAX_SOURCE_LEAVES } from '../limits.ts'
import { documentOf, documentsIn } from '../otlp/reading/retrieved-chunks.ts'

/* Finds the passages that an output may be based on, and those that it cites. */

/** A step's values, parsed. */
export interface SourceStep {
  spanId: string
  stepId: string
  input: Json
  output: Json
  state: Readonly<Record<string, Json>>
}

/** A passage that a step retrieved or received. */
export interface Chunk {
  spanId: string
  stepId: string
  /** The dotted path to it in the span. */
  path: string
  /** Its position in its list, starting at 1. */
  place: number
  /** Its first label. */
  id: string | null
  title: string | null
  text: string
  score: number | null
  /** The version of its doc, if the pipeline recorded one. */
  version: number | null
  /** Every label that a citation may use for it. */
  labels: readonly string[]
}

/**
 * The passages in a step's values. A list contains passages if its name (or, for an output, the step's name) suggests
 * retrieval, or if all of its items are documents with a text and a label. `isOwn` is whether the output to be judged
 * is this step's. If so, that output isn't a source.
 */
export function chunksOf(step: SourceStep, isOwn: boolean): Chunk[] {
  const inputs = isJsonObject(step.input) ? Object.entries(step.input) : []
  const places: [path: string, name: string, value: Json][] = [
    ...Object.entries(step.state).map(([key, value]): [string, string, Json] => [`state.${key}`, key, value]),
    ...(isOwn ? inputs.map(([key, value]): [string, string, Json] => [`input.${key}`, key, value]) : []),
    ...(isOwn ? [] : [['output', step.stepId, step.output] satisfies [string, string, Json]]),
  ]
  return places.flatMap(([path, name, value]) => chunksAt(step, path, name, value))
}

function chunksAt({ spanId, stepId }: SourceStep, path: string, name: string, value: Json): Chunk[] {
  const [listPath, items] = listIn(value, path)
  const isNamed = RETRIEVAL_NAMES.test(name)
  const chunks = items.flatMap((item, index): Chunk[] => {
    const chunk = chunkFrom(item)
    // Messages also have a text and a name.
    if (!chunk || (isJsonObject(item) && 'role' in item)) return []
    return [{ ...chunk, spanId, stepId, path: `${listPath}.${index}`, place: index + 1 }]
  })
  const areDocuments = chunks.length === items.length && chunks.every(({ labels }) => labels.length > 0)
  return isNamed || areDocuments ? chunks : []
}

/** The list of passages in a value, with its path. A single document is treated as a list of one. */
function listIn(value: Json, path: string): [path: string, items: Json[]] {
  const documents = documentsIn(value)
  const items = documents.length > 0 ? documents : (itemsOf(value) ?? [])
  if (Array.isArray(value) || !isJsonObject(value)) return [path, items]
  const field = Object.entries(value).find(([, list]) => Array.isArray(list) && list[0] === items[0])?.[0]
  return [field === undefined ? path : `${path}.${field}`, items]
}

const NAMES = ['doc', 'docId', 'slug', 'source', 'file', 'filename', 'file_name', 'path', 'url', 'uri', 'link']
const TITLES = ['title', 'name', 'heading']

function chunkFrom(item: Json): Omit<Chunk, 'spanId' | 'stepId' | 'path' | 'place'> | undefined {
  // A list of names isn't a list of passages.
  const document = typeof item === 'string' && textIn(item) === undefined ? undefined : documentOf(item)
  const text = document?.content
  if (!document || typeof text !== 'string' || text.trim() === '') return undefined
  const fields = isJsonObject(item) ? item : {}
  const metadata = isJsonObject(document.metadata) ? document.metadata : {}
  const labelsIn = (names: readonly string[]) =>
    [fields, metadata].flatMap(record => names.flatMap(name => labelFrom(record[name]) ?? []))
  const own = [labelFrom(document.id), labelFrom(metadata.id), labelFrom(metadata.doc_id)].filter(
    label => label !== undefined,
  )
  const [names, titles] = [labelsIn(NAMES), labelsIn(TITLES)]
  const [id = null] = [...own, ...names]
  const version = [fields.version, metadata.version].find(value => Number.isSafeInteger(value))
  return {
    id,
    title: titles[0] ?? null,
    text,
    score: typeof document.score === 'number' ? document.score : null,
    version: typeof version === 'number' ? version : null,
    labels: [...new Set([...own, ...names, ...titles].flatMap(withDoc))],
  }
}

function labelFrom(value: Json | undefined): string | undefined {
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' && value !== '' && value.length <= MAX_LABEL_LENGTH ? value : undefined
}

/** A label, and the doc that it's a section of: `returns#2` is in `returns`. */
function withDoc(label: string): string[] {
  const at = label.indexOf('#')
  return at > 0 ? [label, label.slice(0, at)] : [label]
}

/**
 * The chunks that an output cites, in order. A citation is either a whole string that equals a chunk's label, or a
 * label or number that's cited within a string. If many chunks have the same label, returns only as many as a response
 * shows.
 */
export function citationsIn(output: Json, chunks: readonly Chunk[]): ReadonlyMap<Chunk, string[]> {
  const byLabel = new Map<string, Chunk[]>()
  for (const chunk of chunks) {
    for (const label of new Set(chunk.labels.map(plain))) {
      const named = byLabel.get(label) ?? []
      // Limit the chunks, because all of them may have the same label, and every string may cite it.
      if (named.length < MAX_SOURCE_CHUNKS) named.push(chunk)
      byLabel.set(label, named)
    }
  }
  const [first] = chunks
  const list = chunks.filter(({ spanId, path }) => first?.spanId === spanId && parentOf(path) === parentOf(first.path))
  const byPlace = Map.groupBy(list, ({ place }) => String(place))
  const cited = new Map<Chunk, string[]>()
  const cite = (chunk: Chunk, citation: string) => {
    const known = cited.get(chunk) ?? []
    if (known.length < MAX_CITED_AS && !known.includes(citation)) known.push(citation)
    cited.set(chunk, known)
  }
  const named = (name: string) => byLabel.get(plain(name)) ?? byPlace.get(name)
  for (const leaf of stringsIn(output)) {
    for (const chunk of byLabel.get(plain(leaf)) ?? []) cite(chunk, leaf)
    for (const { name } of citationsInText(leaf, each => named(each) !== undefined)) {
      for (const chunk of named(name) ?? []) cite(chunk, name)
    }
  }
  return cited
}

const plain = (label: string): string => label.trim().toLowerCase()

const parentOf = (path: string): string => path.slice(0, path.lastIndexOf('.'))

/** The first strings in a value. Not recursive, because values may be deeply nested. */
function stringsIn(root: Json): string[] {
  const strings: string[] = []
  const waiting: Json[] = [root]
  for (let seen = 0; waiting.length > 0 && seen < MAX_SOURCE_LEAVES; seen++) {
    const value = waiting.pop()
    if (typeof value === 'string') strings.push(value)
    else if (Array.isArray(value)) waiting.push(...value.slice(0, MAX_SOURCE_LEAVES).reverse())
    else if (isJsonObject(value ?? null))
      waiting.push(
        ...Object.values(value ?? {})
          .slice(0, MAX_SOURCE_LEAVES)
          .reverse(),
      )
  }
  return strings
}
