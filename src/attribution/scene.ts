import { canonicalJson } from '../domain/json.ts'
import { MAX_EVIDENCE_LENGTH } from '../limits.ts'
import { boundedSubject } from './bounded.ts'
import { type Dispute, type Disputes, findDisputes } from './dispute.ts'
import { originOf } from './origin.ts'
import { type Retrieval, retrievalsOf } from './retrieval.ts'
import { type Source, slugOf, sourceOf } from './sources.ts'
import { type KnowledgeDoc, rootOf, type Step, type Subject } from './subject.ts'

/** A trace with its main dispute, as the checks see it. */
export interface Scene extends Disputes {
  subject: Subject
  /** What the checks did not look at, a clause each: texts are many. */
  omitted: string[]
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

/** Lays a trace out for the checks, as far as they get through it in a bounded time. Throws where a subject has no step at all. */
export function sceneOf(whole: Subject): Scene {
  const { subject, omitted } = boundedSubject(whole)
  const found = findDisputes(subject)
  const retrievals = retrievalsOf(subject)
  const fetched = new Set(retrievals.flatMap(({ slugs }) => slugs))
  const [dispute] = found.disputes
  const steps = nearest(subject, dispute?.step)
  const docs = fitting(subject.knowledgeDocs, ({ content }) => content.length)
  const sources = [
    ...subject.steps.filter(step => steps.has(step)).flatMap(step => sourcesOf(step, retrievals)),
    ...subject.knowledgeDocs.filter(doc => docs.has(doc)).map(docSource),
  ]
  const root = rootOf(subject)
  const isFetchedWhole = (source: Source) =>
    source.kind === 'doc' && retrievals.some(({ slugs, hasText }) => !hasText && slugs.includes(slugOf(source)))
  const visible = new Map<Step, Source[]>()
  const visibleTo = (step: Step) => {
    const known = visible.get(step)
    if (known) return known
    const found = sources.filter(source => isFetchedWhole(source) || isVisible(source, step, subject))
    visible.set(step, found)
    return found
  }
  const origin = dispute ? originOf(dispute, visibleTo) : root
  const isConcerned = (step: Step) => step === origin || (dispute !== undefined && isSame(step, dispute.step))
  return {
    ...found,
    subject,
    omitted: [
      ...omitted,
      ...leftOut(subject.steps.length - steps.size, 'steps that are far from the disputed one'),
      ...leftOut(subject.knowledgeDocs.length - docs.size, 'knowledge docs'),
    ],
    root,
    dispute,
    retrievals,
    sources,
    origin,
    visible: visibleTo(origin),
    unfetched: sources.filter(source => source.kind === 'doc' && !fetched.has(slugOf(source))),
    prompts: sources.filter(({ kind, step }) => kind === 'prompt' && step !== null && isConcerned(step)),
  }
}

/** The same step, or one whose output it repeats. */
const isSame = (step: Step, other: Step): boolean =>
  step === other || (step.output !== null && canonicalJson(step.output) === canonicalJson(other.output))

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

const docSource = ({ slug, title, content }: KnowledgeDoc): Source =>
  sourceOf('doc', null, `knowledgeDocs.${slug}`, `${title}\n${content}`)

/** The steps whose texts are compared: the root and the disputed one first, then those next to it in time. */
function nearest({ steps }: Subject, disputed: Step | undefined): ReadonlySet<Step> {
  const at = disputed ? steps.indexOf(disputed) : steps.length
  const distance = (step: Step) => (step.isRoot ? -1 : Math.abs(steps.indexOf(step) - at))
  const byDistance = steps.map(step => ({ step, far: distance(step) })).sort((left, right) => left.far - right.far)
  return fitting(
    byDistance.map(({ step }) => step),
    ({ input, output, state }) => JSON.stringify([input, output, state]).length,
  )
}

/** The first of some items whose texts are not too long together to be taken apart; one at least. */
function fitting<Item>(items: readonly Item[], lengthOf: (item: Item) => number): ReadonlySet<Item> {
  let left = MAX_EVIDENCE_LENGTH
  return new Set(
    items.filter((item, index) => {
      if (left <= 0) return false
      left -= lengthOf(item)
      return left > 0 || index === 0
    }),
  )
}

const leftOut = (count: number, what: string): string[] =>
  count === 0 ? [] : [`${count.toLocaleString('en')} ${what}`]

/** Whether a step could know a source: its own and the trace's input and state, and what other steps gave before it ended. */
function isVisible({ kind, path, step: owner }: Source, step: Step, subject: Subject): boolean {
  if (kind === 'prompt' || kind === 'doc' || !owner) return false
  // What a step tells of its run is no knowledge; the trace's own metadata may be its context.
  if (kind === 'metadata' && !owner.isRoot) return false
  if (owner === step) return path !== 'output'
  if (owner.isRoot) return path !== 'output'
  if (step.isRoot || isAncestor(step, owner, subject)) return true
  return owner.timestamp <= step.timestamp && !isAncestor(owner, step, subject)
}

/** Whether a step is above another one in the tree. */
function isAncestor(upper: Step, lower: Step, subject: Subject): boolean {
  const known = ancestors.get(subject) ?? ancestorsIn(subject)
  ancestors.set(subject, known)
  return known.get(lower)?.has(upper.spanId) === true
}

/** By subject: each step is asked of each source, and sources are many. */
const ancestors = new WeakMap<Subject, ReadonlyMap<Step, ReadonlySet<string>>>()

function ancestorsIn({ steps }: Subject): ReadonlyMap<Step, ReadonlySet<string>> {
  const parents = new Map<string, string | null>()
  // Of two with the same id, the first one counts.
  for (const { spanId, parentSpanId } of steps.toReversed()) parents.set(spanId, parentSpanId)
  return new Map(
    steps.map(step => {
      const above = new Set<string>()
      let at = step.parentSpanId
      // A loop of parents ends where it began.
      while (at && above.size < 64 && !above.has(at)) {
        above.add(at)
        at = parents.get(at) ?? null
      }
      return [step, above] as const
    }),
  )
}
