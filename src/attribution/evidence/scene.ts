import { counted } from '../../domain/counted.ts'
import {
  type Ancestors,
  ancestorsIn,
  type KnowledgeDoc,
  rootOf,
  type Step,
  type Subject,
} from '../../domain/subject.ts'
import { MAX_EVIDENCE_LENGTH, MAX_READING_EFFORT } from '../../limits.ts'
import { attempt, spend, spentSteps } from '../effort.ts'
import { boundedSubject } from '../text/bounded.ts'
import { differenceOf } from './difference.ts'
import { findDisputes, type MainDispute, type Support } from './dispute.ts'
import { originOf } from './origin.ts'
import { type Retrieval, retrievalsOf } from './retrieval.ts'
import { type Source, slugOf, sourceOf } from './sources.ts'

/** A trace with its main dispute, prepared for the checks. */
export interface Scene {
  subject: Subject
  /** A phrase for each part that wasn't checked. */
  omitted: string[]
  root: Step
  /** The strongest dispute, which determines the answer. Undefined if nobody objects to an output. */
  dispute: MainDispute | undefined
  supports: Support[]
  retrievals: Retrieval[]
  sources: Source[]
  /** The origin of the fault: the earliest step whose own output contains it. */
  origin: Step
  /** The content that the origin could see: earlier content and its own input. */
  visible: Source[]
  /** Knowledge docs that no step fetched. */
  unfetched: Source[]
  prompts: Source[]
}

/** Prepares a trace for the checks, with limited effort. Yields between sources. Throws if the subject has no steps. */
export function* sceneOf(whole: Subject): Generator<undefined, Scene> {
  const { subject, omitted } = boundedSubject(whole)
  const { objection: strongest, supports } = findDisputes(subject)
  yield
  const docs = fitting(subject.knowledgeDocs, ({ content }) => content.length)
  const { retrievals, isComplete: areRetrievalsComplete } = retrievalsOf(subject)
  yield
  const fetched = new Set(retrievals.flatMap(({ slugs }) => slugs))
  const near = nearest(subject, strongest?.step)
  const drafts = [
    ...[...near].flatMap(step => draftsOf(step, retrievals)),
    ...subject.knowledgeDocs.filter(doc => docs.has(doc)).map(docDraft),
  ]
  const { sources, unread } = yield* readSources(drafts, subject)
  const root = rootOf(subject)
  const isFetchedWhole = (source: Source) =>
    source.kind === 'doc' && retrievals.some(({ slugs, hasText }) => !hasText && slugs.includes(slugOf(source)))
  const ancestors = ancestorsIn(subject)
  const visible = new Map<Step, Source[]>()
  const visibleTo = (step: Step) => {
    const known = visible.get(step)
    if (known) return known
    spend(sources.length)
    const found = sources.filter(source => isFetchedWhole(source) || isVisible(source, step, ancestors))
    visible.set(step, found)
    return found
  }
  yield
  const approved = strongest?.approved
  const difference = strongest && approved !== undefined ? differenceOf(strongest.step.output, approved) : undefined
  const dispute = strongest && { ...strongest, difference }
  yield
  const { origin, isComplete } = dispute ? originOf(dispute, visibleTo) : { origin: root, isComplete: true }
  yield
  return {
    subject,
    omitted: [
      ...omitted,
      ...countOf(subject.steps.length - near.size, 'step', ' far from the disputed step'),
      ...countOf(subject.knowledgeDocs.length - docs.size, 'knowledge doc'),
      ...countOf(unread, 'text', ' with too many numbers and words to compare'),
      ...(areRetrievalsComplete ? [] : ['some of the fetched content']),
      ...(isComplete ? [] : [`steps before "${origin.stepId}" that may have caused the fault`]),
      ...(difference?.isTooLarge
        ? ['the exact differences between the output and the approved output, because both are too large']
        : []),
    ],
    root,
    dispute,
    supports,
    retrievals,
    sources,
    origin,
    visible: visibleTo(origin),
    unfetched: sources.filter(source => source.kind === 'doc' && !fetched.has(slugOf(source))),
    prompts: sources.filter(({ kind, step }) => kind === 'prompt' && (step === origin || step === dispute?.step)),
  }
}

/** A source that hasn't been read yet. */
type Draft = Parameters<typeof sourceOf>

function draftsOf(step: Step, retrievals: readonly Retrieval[]): Draft[] {
  const isRetrieved = (path: string) => retrievals.some(found => found.step === step && found.path === path)
  const drafts: Draft[] = [
    ['input', step, 'input', step.input],
    ...Object.entries(step.state).map(
      ([key, value]): Draft => [isRetrieved(`state.${key}`) ? 'retrieved' : 'state', step, `state.${key}`, value],
    ),
    [isRetrieved('output') ? 'retrieved' : 'output', step, 'output', step.output],
    ['prompt', step, 'prompt', step.prompt?.content ?? null],
    ['metadata', step, 'metadata', step.metadata],
  ]
  return drafts.filter(([, , , value]) => value !== null)
}

const docDraft = ({ slug, title, content }: KnowledgeDoc): Draft => [
  'doc',
  null,
  `knowledgeDocs.${slug}`,
  `${title}\n${content}`,
]

/** Reads as many sources as the effort allows, in the order of the drafts. Returns them in the order of their steps. */
function* readSources(
  drafts: readonly Draft[],
  { steps }: Subject,
): Generator<undefined, { sources: Source[]; unread: number }> {
  const sources: Source[] = []
  let left = MAX_READING_EFFORT
  for (const draft of drafts) {
    yield
    const before = spentSteps()
    const source = attempt(left, () => sourceOf(...draft))
    left -= spentSteps() - before
    if (source) sources.push(source)
  }
  const places = new Map<Step | null, number>([
    ...steps.map((step, index) => [step, index] as const),
    [null, steps.length],
  ])
  const placeOf = ({ step }: Source) => places.get(step) ?? 0
  return {
    sources: sources.toSorted((left, right) => placeOf(left) - placeOf(right)),
    unread: drafts.length - sources.length,
  }
}

/** The steps to compare: first the root and the disputed step, then the closest steps, until no more fit. */
function nearest({ steps }: Subject, disputed: Step | undefined): ReadonlySet<Step> {
  const at = disputed ? steps.indexOf(disputed) : steps.length
  const distance = (step: Step) => (step.isRoot ? -1 : Math.abs(steps.indexOf(step) - at))
  const byDistance = steps.map(step => ({ step, far: distance(step) })).sort((left, right) => left.far - right.far)
  return fitting(
    byDistance.map(({ step }) => step),
    ({ input, output, state }) => JSON.stringify([input, output, state]).length,
  )
}

/** The first items that together are short enough to analyze. Always at least one. */
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

const countOf = (count: number, one: string, rest = ''): string[] =>
  count === 0 ? [] : [`${counted(count, one)}${rest}`]

/**
 * Whether a step could see a source. A step sees its own and the trace's input and state, and earlier outputs from
 * other steps.
 */
function isVisible({ kind, path, step: owner }: Source, step: Step, ancestors: Ancestors): boolean {
  if (kind === 'prompt' || kind === 'doc' || !owner) return false
  // A step's own metadata describes its run and isn't context. The trace's metadata may be.
  if (kind === 'metadata' && !owner.isRoot) return false
  if (owner === step) return path !== 'output'
  if (owner.isRoot) return path !== 'output'
  if (step.isRoot || ancestors.get(owner)?.has(step.spanId)) return true
  return owner.timestamp <= step.timestamp && !ancestors.get(step)?.has(owner.spanId)
}
