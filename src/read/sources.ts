import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { CREATED, DOC_ID, DOC_VERSION_ID, PROMPT_ID, PROMPT_VERSION_ID, ROOT_SPAN_ID, SPAN_ID } from '../api/story.ts'
import { requireFound } from '../auth/require-project.ts'
import { RETRIEVAL_NAMES } from '../domain/retrieved-content.ts'
import { cutText } from '../domain/text.ts'
import { giveTurn } from '../domain/turns.ts'
import { described, Uuid } from '../http/atoms.ts'
import {
  MAX_CITED_AS,
  MAX_SOURCE_CHUNK_BYTES,
  MAX_SOURCE_CHUNKS,
  MAX_SOURCE_LABELS,
  MAX_SOURCE_SPANS,
  MAX_SOURCE_TEXT_LENGTH,
} from '../limits.ts'
import { isForeignSpan } from '../store/accounts/ownership.ts'
import type { Store } from '../store/core/store.ts'
import { findSpan, findSpans, type LocatedSpan } from '../store/spans/located-spans.ts'
import { findSourceCandidates, type SourceOutline } from '../store/spans/source-spans.ts'
import { findDocsAtReceipt, findStepTexts, type NamedDoc, type TextAtReceipt } from '../store/texts/texts-at-receipt.ts'
import { doc, guideline, promptVersion } from './examples.ts'
import { type Chunk, chunksOf, citationsIn, type SourceStep } from './source-chunks.ts'
import { Guideline, toGuideline } from './text-wire.ts'

const Truncated = described(v.boolean(), 'Whether `content` is cut off')
const CitedAs = described(
  v.array(v.string()),
  `The strings in the output that cite this source, at most ${MAX_CITED_AS} for each chunk. Empty if there are none.`,
)

const SourceText = v.object({
  id: Uuid,
  versionId: Uuid,
  number: described(v.number(), "The version's number"),
  content: v.string(),
  truncated: Truncated,
})

/** What an output is based on. */
export const SpanSources = v.object({
  chunks: described(
    v.array(
      v.object({
        id: described(v.nullable(v.string()), "The chunk's ID, doc, or source, as the pipeline names it"),
        title: v.nullable(v.string()),
        content: v.string(),
        truncated: Truncated,
        score: v.nullable(v.number()),
        citedAs: CitedAs,
        docId: described(v.nullable(Uuid), "The chunk's knowledge doc. Null if `docs` doesn't include it."),
        spanId: described(Uuid, 'The span that retrieved the chunk'),
        stepId: v.string(),
        path: described(v.string(), 'The path to the chunk in that span'),
      }),
    ),
    'Retrieved passages. Those that the output cites come first.',
  ),
  chunkCount: described(v.number(), 'How many chunks were found. `chunks` may include only the first ones.'),
  docs: described(
    v.array(v.object({ ...SourceText.entries, slug: v.string(), title: v.string(), citedAs: CitedAs })),
    'Knowledge docs that the chunks or the output name, each in the version recorded with the chunk or, if none was recorded, the version that was active when the trace arrived.',
  ),
  prompt: described(
    v.nullable(
      v.object({
        ...SourceText.entries,
        isRecorded: described(
          v.boolean(),
          'Whether the span recorded this version. If not, this is the version that was active when the trace arrived.',
        ),
      }),
    ),
    "The step's prompt",
  ),
  guideline: described(v.nullable(Guideline), "The step's guideline for reviewers. Null if it was never set."),
  isComplete: described(v.boolean(), 'Whether all earlier spans were searched for chunks'),
})

export const getSpanSources = endpoint({
  family: 'read',
  method: 'GET',
  path: '/api/spans/{spanId}/sources',
  summary: "Get the sources of a span's output",
  description: `Finds retrieved chunks in the span's input and state, and in the values of up to ${MAX_SOURCE_SPANS} spans that began before it ended: its ancestors, steps that retrieve, and the spans nearest to it.`,
  scope: 'read',
  at: 'span',
  params: v.object({ spanId: Uuid }),
  responses: { 200: SpanSources },
  example: {
    params: { spanId: SPAN_ID },
    answers: {
      200: {
        chunks: [
          {
            id: 'warranty',
            title: null,
            content: 'Every device has a warranty of 24 months.',
            truncated: false,
            score: 0.91,
            citedAs: ['warranty'],
            docId: DOC_ID,
            spanId: ROOT_SPAN_ID,
            stepId: 'support-answer',
            path: 'state.retrieved_chunks.0',
          },
        ],
        chunkCount: 1,
        docs: [
          {
            id: DOC_ID,
            slug: doc.slug,
            title: doc.title,
            versionId: DOC_VERSION_ID,
            number: 1,
            content: doc.content,
            truncated: false,
            citedAs: ['warranty'],
          },
        ],
        prompt: {
          id: PROMPT_ID,
          versionId: PROMPT_VERSION_ID,
          number: 1,
          content: promptVersion.content,
          truncated: false,
          isRecorded: true,
        },
        guideline: { ...guideline, updatedAt: CREATED },
        isComplete: true,
      },
    },
  },
}).handle(async ({ params: { spanId }, caller, store, unscoped }) => {
  const [found, outline] = await Promise.all([findSpan(store, spanId), findSourceCandidates(store, spanId)])
  const span = await requireFound(caller, found, () => isForeignSpan(unscoped, store.organization, spanId))
  // A trace that's deleted in the meantime has no sources.
  const { chunks, cited, isComplete, texts } = await readSources(store, span, outline)
  const named = docsNamedIn(chunks, cited)
  const docs = outline ? await findDocsAtReceipt(store, { ...outline, projectKey: span.projectKey }, named) : []
  const docOf = new Map(docs.map(each => [each.name, each]))
  const shown = chunks.slice(0, MAX_SOURCE_CHUNKS)
  return {
    status: 200,
    body: {
      chunks: shown.map(chunk => toChunk(chunk, cited.get(chunk) ?? [], docOf)),
      chunkCount: chunks.length,
      docs: docs.map(each => ({
        ...toText(each),
        slug: each.name,
        title: each.title,
        citedAs: [...new Set(chunks.flatMap(chunk => (isOfDoc(chunk, each.name) ? (cited.get(chunk) ?? []) : [])))],
      })),
      prompt: texts.prompt ? { ...toText(texts.prompt), isRecorded: span.promptVersionId !== null } : null,
      guideline: texts.guideline ? toGuideline(texts.guideline) : null,
      isComplete,
    },
  }
})

/** Reads the spans that the output may be based on, and finds their chunks: cited ones first, then the nearest. */
async function readSources(store: Store, span: LocatedSpan, outline: SourceOutline | undefined) {
  const nothing = { prompt: undefined, guideline: undefined }
  if (!outline) return { chunks: [], cited: new Map<Chunk, string[]>(), isComplete: true, texts: nothing }
  const likeliest = likeliestFirst(span, outline)
  const ids = likeliest.slice(0, MAX_SOURCE_SPANS)
  const [page, texts] = await Promise.all([
    findSpans(store, ids, 'full'),
    findStepTexts(store, { ...span, traceKey: outline.traceKey }),
  ])
  const own = parsedStep(span)
  const found = [chunksOf(own, true)]
  for (const id of ids) {
    const earlier = page.found.get(id)
    if (earlier) found.push(chunksOf(parsedStep(earlier), false))
    // Values may contain megabytes of chunks, so let other requests run in between.
    await giveTurn()
  }
  const all = found.flat()
  const chunks = [...new Map(all.toReversed().map(chunk => [identityOf(chunk), chunk])).values()].toReversed()
  const cited = citationsIn(own.output, chunks)
  return {
    chunks: [...cited.keys(), ...chunks.filter(chunk => !cited.has(chunk))],
    cited,
    isComplete: outline.isComplete && page.count === likeliest.length,
    texts,
  }
}

/** Steps pass chunks on, so each chunk is shown only once, at the step nearest to the output. */
const identityOf = ({ id, text }: Chunk): string => JSON.stringify([id, text])

/** The spans that the output may be based on: the root, other ancestors, steps that retrieve, then the latest steps. */
function likeliestFirst({ id }: LocatedSpan, { rootSpanId, parentId, candidates }: SourceOutline): string[] {
  const parentOf = new Map(candidates.map(candidate => [candidate.id, candidate.parentId]))
  const ancestors: string[] = []
  for (let at = parentId; at && !ancestors.includes(at) && ancestors.length < MAX_SOURCE_SPANS; ) {
    ancestors.push(at)
    at = parentOf.get(at) ?? null
  }
  const isRetrieval = ({ stepId }: { stepId: string }) => RETRIEVAL_NAMES.test(stepId)
  const ranked = [
    ...candidates.filter(isRetrieval),
    ...candidates.filter(({ isSupporting }) => isSupporting === 1),
    ...candidates,
  ].map(candidate => candidate.id)
  const ids = new Set([rootSpanId, ...ancestors, ...ranked])
  ids.delete(id)
  return [...ids]
}

const parsedStep = ({ id, stepId, input, output, state }: LocatedSpan): SourceStep => ({
  spanId: id,
  stepId,
  input: JSON.parse(input.text),
  output: JSON.parse(output.text),
  state: Object.fromEntries(Object.entries(state).map(([key, value]) => [key, JSON.parse(value.text)])),
})

/** The docs that chunks name. Docs that cited chunks name come first. */
function docsNamedIn(chunks: readonly Chunk[], cited: ReadonlyMap<Chunk, string[]>): NamedDoc[] {
  const named = new Map<string, number | null>()
  for (const { labels, version } of chunks) {
    for (const label of labels) named.set(label, named.get(label) ?? version)
  }
  const first = new Set([...cited.keys()].flatMap(({ labels }) => labels))
  return [...named]
    .map(([slug, number]) => ({ slug, number }))
    .toSorted((left, right) => Number(first.has(right.slug)) - Number(first.has(left.slug)))
    .slice(0, MAX_SOURCE_LABELS)
}

const isOfDoc = ({ labels }: Chunk, slug: string): boolean => labels.includes(slug)

function toChunk(chunk: Chunk, citedAs: string[], docs: ReadonlyMap<string, TextAtReceipt>) {
  const { id, title, text, score, spanId, stepId, path, labels } = chunk
  const slug = labels.find(label => docs.has(label))
  const content = cutText(text, MAX_SOURCE_CHUNK_BYTES)
  return {
    id,
    title,
    content,
    truncated: content.length < text.length,
    score,
    citedAs,
    docId: (slug !== undefined && docs.get(slug)?.id) || null,
    spanId,
    stepId,
    path,
  }
}

const toText = ({ id, versionId, number, content, length }: TextAtReceipt) => ({
  id,
  versionId,
  number,
  content,
  truncated: length > MAX_SOURCE_TEXT_LENGTH,
})
