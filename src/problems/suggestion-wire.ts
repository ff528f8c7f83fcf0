import * as v from 'valibot'
import { described, IsoTime, isoTime, Uuid } from '../http/atoms.ts'
import type { SuggestionRecord } from '../store/problems/suggestions.ts'

export const PendingSuggestion = v.object({
  status: v.literal('pending'),
  problemId: Uuid,
  waitsUntil: described(
    v.optional(IsoTime),
    "When the model will be asked. Present only if the provider is busy or the project has used up today's model calls.",
  ),
})

const Change = v.object({
  start: described(
    v.number(),
    "Where the change begins: the number of UTF-16 code units before it in the base version's content",
  ),
  before: described(v.string(), 'The replaced text. Empty if the change only adds text.'),
  after: described(v.string(), 'The new text'),
  reason: described(
    v.nullable(v.string()),
    "The model's reason. Null once any of the suggestion's examples has been deleted, because the reason may quote that example.",
  ),
  examples: described(
    v.array(Uuid),
    'The corrected spans that the change should help with. Deleted spans are left out.',
  ),
  isCopied: described(
    v.boolean(),
    "Whether the change copies words from an example's input, state, or output that don't appear in anything that a person wrote. A trace can contain instructions meant for a model, so check whether you really want this rule.",
  ),
  copiedFrom: described(v.array(Uuid), 'The spans that the words were copied from. Deleted spans are left out.'),
})

export const Suggestion = v.object({
  problemId: Uuid,
  promptId: Uuid,
  versionId: described(Uuid, "The suggested version. It isn't active until somebody activates it."),
  number: described(v.number(), "The version's number"),
  isActive: v.boolean(),
  baseVersionId: described(Uuid, 'The version that was active when the model was asked. The changes apply to it.'),
  model: described(v.string(), 'The model that wrote the version'),
  createdAt: IsoTime,
  changes: described(v.array(Change), 'The changes, in the order in which they appear in the prompt'),
  examples: described(
    v.array(v.object({ spanId: Uuid, traceId: Uuid })),
    'The corrected spans that the model read. Deleted spans are left out.',
  ),
})

export function toSuggestion(problemId: string, record: SuggestionRecord): v.InferOutput<typeof Suggestion> {
  const { answeredAt, changes, reasons, examples, ...version } = record
  const spansWith = (list: 'serves' | 'copied', index: number) =>
    examples.flatMap(example => (example[list].includes(index) ? [example.spanId] : []))
  return {
    problemId,
    ...version,
    createdAt: isoTime(answeredAt),
    changes: changes.map((change, index) => ({
      ...change,
      reason: reasons?.[index] ?? null,
      examples: spansWith('serves', index),
      copiedFrom: spansWith('copied', index),
    })),
    examples: examples.map(({ spanId, traceId }) => ({ spanId, traceId })),
  }
}
