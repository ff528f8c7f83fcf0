import { isJsonObject, type Json } from '../domain/json.ts'
import { type Dispute, type Disputes, findDisputes } from './dispute.ts'
import { originOf } from './origin.ts'
import { type Retrieval, retrievalsOf } from './retrieval.ts'
import type { Step, Subject } from './subject.ts'
import { type Fact, type Terms, termsOfValue } from './terms.ts'

/** A text or value that an output may rest on. */
export interface Source {
  kind: 'input' | 'state' | 'retrieved' | 'output' | 'prompt' | 'doc' | 'metadata'
  /** Null: a knowledge doc. */
  step: Step | null
  /** A JSON path from the step. */
  path: string
  value: Json
  terms: Terms
  readings: ReadonlySet<string>
}

/** A trace with its main dispute, as the checks see it. */
export interface Scene extends Disputes {
  subject: Subject
  root: Step
  /** The one that decides: the first of the disputes. Undefined where nobody objects to an output. */
  dispute: Dispute | undefined
  retrievals: Retrieval[]
  sources: Source[]
  /** Where the fault came from: the earliest step whose own output carries it. */
  origin: Step
  /** What that step could know: it came before, or was handed to it. */
  visible: Source[]
  /** Knowledge docs that no step fetched. */
  unfetched: Source[]
  prompts: Source[]
}

/** Lays a trace out for the checks. */
export function sceneOf(subject: Subject): Scene {
  const found = findDisputes(subject)
  const retrievals = retrievalsOf(subject)
  const fetched = new Set(retrievals.flatMap(({ slugs }) => slugs))
  const sources = [...subject.steps.flatMap(step => sourcesOf(step, retrievals)), ...docSources(subject)]
  const [dispute] = found.disputes
  const root = subject.steps.find(({ isRoot }) => isRoot) ?? subject.steps[0]
  if (!root) throw new Error('a trace has a root span')
  const isFetchedWhole = (source: Source) =>
    source.kind === 'doc' && retrievals.some(({ slugs, hasText }) => !hasText && slugs.includes(slugOf(source)))
  const visibleTo = (step: Step) => sources.filter(source => isFetchedWhole(source) || isVisible(source, step, subject))
  const origin = dispute ? originOf(dispute, visibleTo) : root
  return {
    ...found,
    subject,
    root,
    dispute,
    retrievals,
    sources,
    origin,
    visible: visibleTo(origin),
    unfetched: sources.filter(source => source.kind === 'doc' && !fetched.has(slugOf(source))),
    prompts: sources.filter(({ kind, step }) => kind === 'prompt' && (step === origin || step === dispute?.step)),
  }
}

export const slugOf = ({ path }: Source): string => path.replace(/^knowledgeDocs\./, '')

export function sourceOf(kind: Source['kind'], step: Step | null, path: string, value: Json): Source {
  const terms = termsOfValue(value)
  return { kind, step, path, value, terms, readings: new Set(terms.facts.flatMap(({ readings }) => readings)) }
}

function sourcesOf(step: Step, retrievals: readonly Retrieval[]): Source[] {
  const isRetrieved = (path: string) => retrievals.some(found => found.step === step && found.path === path)
  return [
    ...(step.input === null ? [] : [sourceOf('input', step, 'input', step.input)]),
    ...Object.entries(step.state).map(([key, value]) =>
      sourceOf(isRetrieved(`state.${key}`) ? 'retrieved' : 'state', step, `state.${key}`, value),
    ),
    ...(step.output === null
      ? []
      : [sourceOf(isRetrieved('output') ? 'retrieved' : 'output', step, 'output', step.output)]),
    ...(step.prompt ? [sourceOf('prompt', step, 'prompt', step.prompt.content)] : []),
    ...(Object.keys(step.metadata).length === 0 ? [] : [sourceOf('metadata', step, 'metadata', step.metadata)]),
  ]
}

const docSources = ({ knowledgeDocs }: Subject): Source[] =>
  knowledgeDocs.map(({ slug, title, content }) =>
    sourceOf('doc', null, `knowledgeDocs.${slug}`, `${title}\n${content}`),
  )

/** Whether a step could know a source: its own and the trace's input and state, and what other steps gave before it ended. */
function isVisible({ kind, path, step: owner }: Source, step: Step, subject: Subject): boolean {
  if (kind === 'prompt' || kind === 'doc' || !owner) return false
  if (owner === step) return path !== 'output'
  if (owner.isRoot) return path !== 'output'
  if (step.isRoot || isAncestor(step, owner, subject)) return true
  return owner.timestamp <= step.timestamp && !isAncestor(owner, step, subject)
}

/** Whether a step is above another one in the tree. */
export function isAncestor(upper: Step, lower: Step, { steps }: Subject): boolean {
  let at: Step | undefined = lower
  for (let depth = 0; at?.parentSpanId && depth < 64; depth++) {
    const { parentSpanId }: Step = at
    if (parentSpanId === upper.spanId) return true
    at = steps.find(({ spanId }) => spanId === parentSpanId)
  }
  return false
}

/** The first source that has a fact. */
export const findFact = (fact: Fact, sources: readonly Source[]): Source | undefined =>
  sources.find(({ readings }) => fact.readings.some(reading => readings.has(reading)))

export const findWord = (stem: string, sources: readonly Source[]): Source | undefined =>
  sources.find(({ terms }) => terms.words.has(stem))

/** How much of some terms stands in sources, by weight: facts and names say more than words. */
export interface Support {
  /** 0 to 1; 0 where there is nothing to look for. */
  found: number
  /** What there was to look for: a number alone weighs 2. */
  weight: number
  /** The first of what was found, and where. */
  at: { text: string; source: Source } | undefined
  /** The first of what was not. */
  missing: string | undefined
}

/** How much of some terms stands in sources. */
export function supportOf(terms: Terms, sources: readonly Source[], wordWeight = 0.5): Support {
  let [found, weight] = [0, 0]
  let at: Support['at']
  let missing: string | undefined
  const look = (text: string, value: number, source: Source | undefined) => {
    weight += value
    if (source) {
      found += value
      at ??= { text, source }
    } else missing ??= text
  }
  for (const fact of terms.facts) look(fact.text, weightOf(fact), findFact(fact, sources))
  for (const [stem, { text, isName }] of terms.words) {
    look(text, isName ? Math.max(1, wordWeight) : wordWeight, findWord(stem, sources))
  }
  return { found: weight === 0 ? 0 : found / weight, weight, at, missing }
}

/** A small whole number stands in many places by chance. */
const weightOf = ({ readings }: Fact): number => (/^n:\d$/.test(readings[0] ?? '') ? 1 : 2)

/** Each scalar in a value with its path. */
export function* leavesOf(
  value: Json,
  path: string,
): Generator<[path: string, leaf: string | number | boolean | null]> {
  if (Array.isArray(value)) for (const [index, item] of value.entries()) yield* leavesOf(item, `${path}[${index}]`)
  else if (isJsonObject(value))
    for (const [field, item] of Object.entries(value)) yield* leavesOf(item, `${path}.${field}`)
  else yield [path, value]
}

/** A text, short enough to be quoted in a note. */
export function quote(value: Json | undefined): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing')
  return `"${text.length > 80 ? `${text.slice(0, 77)}...` : text}"`
}
