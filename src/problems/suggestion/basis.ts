import type { Json } from '../../domain/json.ts'
import { giveTurn } from '../../domain/turns.ts'
import { MAX_SUBJECT_VALUE_BYTES } from '../../limits.ts'
import { listErrorTypes } from '../../store/attribution/error-types.ts'
import type { Store } from '../../store/core/store.ts'
import { measureItems } from '../../store/datasets/item-sizes.ts'
import { type DatasetItem, readItems } from '../../store/datasets/item-values.ts'
import type { ItemHead } from '../../store/datasets/items.ts'
import type { FoundProblem } from '../../store/problems/problem-ids.ts'
import { findDecisionComments } from '../../store/problems/train-items.ts'
import { type ActiveText, listTexts } from '../../store/texts/versioned-texts.ts'
import type { Basis, Example } from './question.ts'

type Named = { kind: 'prompt' | 'knowledge_doc'; name: string }

/** Finds a step's prompt or a knowledge doc, with its active version. */
export async function findActive(
  store: Store,
  { projectKey }: Pick<FoundProblem, 'projectKey'>,
  named: Named,
): Promise<ActiveText | undefined> {
  const { items } = await listTexts(store, { key: projectKey }, { ...named, limit: 1, after: '' })
  return items[0]
}

/** Reads what a suggestion is based on. `heads` are the examples. */
export async function readBasis(
  store: Store,
  problem: FoundProblem,
  { prompt, heads }: { prompt: ActiveText; heads: readonly ItemHead[] },
): Promise<Basis> {
  const { projectKey, stepId, errorType, docSlug } = problem
  const [types, doc, examples] = await Promise.all([
    errorType === '' ? [] : listErrorTypes(store, projectKey),
    docSlug === '' ? undefined : findActive(store, problem, { kind: 'knowledge_doc', name: docSlug }),
    readExamples(store, problem, heads),
  ])
  const type = types.find(each => each.errorType === errorType)
  return {
    stepId,
    errorType: errorType === '' ? null : { name: errorType, rule: type?.rule ?? '' },
    doc: doc ? { slug: doc.name, title: doc.title, content: doc.content } : null,
    prompt: {
      content: prompt.content,
      outputSchema: prompt.outputSchema ? JSON.parse(prompt.outputSchema.text) : null,
    },
    examples,
  }
}

/** Reads the values of examples. Large ones are read as previews, because the question has no room for more. */
async function readExamples(store: Store, problem: FoundProblem, heads: readonly ItemHead[]): Promise<Example[]> {
  const [sizes, comments] = await Promise.all([measureItems(store, problem, heads), findDecisionComments(store, heads)])
  const isSmall = (_: ItemHead, index: number) => (sizes[index]?.bytes ?? 0) <= MAX_SUBJECT_VALUE_BYTES
  const small = heads.filter(isSmall)
  const large = heads.filter((head, index) => !isSmall(head, index))
  const read = await Promise.all([
    readItems(store, problem, small, 'full'),
    readItems(store, problem, large, 'preview'),
  ])
  const items = new Map(read.flatMap(({ items }) => items.map(item => [item.id, item])))
  const examples: Example[] = []
  for (const { id } of heads) {
    const item = items.get(id)
    if (!item) continue
    examples.push(exampleOf(item, comments.get(id) ?? null))
    await giveTurn()
  }
  return examples
}

function exampleOf({ id, place: [stepId], input, state, output, expected }: DatasetItem, comment: string | null) {
  const parse = ({ text }: { text: string }): Json => JSON.parse(text)
  const [approved] = expected
  return {
    spanId: id,
    stepId,
    input: parse(input),
    state: Object.fromEntries(Object.entries(state).map(([key, value]) => [key, parse(value)])),
    output: parse(output),
    approved: approved ? parse(approved) : null,
    comment,
  }
}
