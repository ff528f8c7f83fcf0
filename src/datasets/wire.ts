import * as v from 'valibot'
import type { Caller } from '../auth/authenticate.ts'
import { requireFound } from '../auth/require-project.ts'
import { SPLIT } from '../domain/dataset.ts'
import { type DatasetPart, readVersion, writeVersion } from '../domain/dataset-version.ts'
import { COMPARISONS, evaluatorFaults, RULE_TYPES } from '../domain/evaluator.ts'
import { described, IsoTime, isoTime, pathItem, record, StoredObject, StoredValue, text, Uuid } from '../http/atoms.ts'
import { badRequest } from '../http/errors.ts'
import { MAX_EVALUATOR_PATH_BYTES, MAX_EVALUATOR_PATHS, MAX_VERSION_LENGTH } from '../limits.ts'
import { isForeignDataset } from '../store/accounts/ownership.ts'
import type { Store, UnscopedStore } from '../store/core/store.ts'
import { type Dataset as DatasetRecord, findDataset } from '../store/datasets/datasets.ts'
import type { DatasetItem as ItemRecord } from '../store/datasets/item-values.ts'
import type { ItemHead } from '../store/datasets/items.ts'

const Tolerance = v.pipe(v.number(), v.finite('must be a finite number'), v.minValue(0, 'must be at least 0'))

const Rule = v.strictObject({
  type: v.picklist(RULE_TYPES),
  tolerance: v.optional(Tolerance),
})

/** How a dataset's outputs are compared. */
export const Evaluator = v.pipe(
  v.strictObject({
    type: described(
      v.optional(v.picklist(COMPARISONS)),
      'How to compare the whole output. `exact`: as JSON. `fields`, the default: leaf by leaf, ignoring whitespace and case in text, although strings that the schema restricts with `enum` or `const` must be equal. `text`: like `fields`, but ignoring whitespace and case in those strings, too. `number`: like `fields`, with a tolerance for numbers.',
    ),
    tolerance: v.optional(Tolerance),
    paths: described(
      v.optional(record(text(1, MAX_EVALUATOR_PATH_BYTES), Rule)),
      `How to compare parts of the output, by path: \`total\`, \`items.0.price\`, \`items.*.price\`. At most ${MAX_EVALUATOR_PATHS}.`,
    ),
  }),
  v.rawCheck(({ dataset, addIssue }) => {
    if (!dataset.typed) return
    for (const { path, message } of evaluatorFaults(dataset.value)) {
      const [first, ...rest] = path.map(key => pathItem(key))
      addIssue({ message, ...(first && { path: [first, ...rest] }) })
    }
  }),
)

/** A split's name. */
export const Split = v.pipe(
  v.string(),
  v.regex(SPLIT, 'must be 1 to 32 lowercase letters, digits, or hyphens'),
  v.metadata({ examples: ['test'] }),
)

/** A version of a dataset. */
export const Version = v.pipe(
  v.string(),
  v.maxLength(MAX_VERSION_LENGTH, 'is not a version of this dataset'),
  v.metadata({ description: 'A version of the dataset, as returned in responses. Default: the current one.' }),
)

export const Dataset = v.object({
  id: Uuid,
  stepId: v.string(),
  version: described(v.string(), 'Changes whenever the dataset changes. Opaque.'),
  items: described(v.number(), 'The number of items, including excluded ones'),
  accepted: described(v.number(), 'The number of items whose output a reviewer accepted'),
  corrected: described(v.number(), 'The number of items whose output a reviewer corrected'),
  imported: described(v.number(), 'The number of imported examples'),
  excluded: described(v.number(), 'How many of the items are excluded from experiments'),
  evaluator: described(Evaluator, 'How outputs are compared with the expected ones. `{}` is the default.'),
  updatedAt: IsoTime,
})

export const toDataset = async (dataset: DatasetRecord): Promise<v.InferOutput<typeof Dataset>> => {
  const { id, stepId, parts, accepted, corrected, imported, excluded, evaluator, updatedAt } = dataset
  return {
    id,
    stepId,
    version: await writeVersion(parts),
    items: accepted + corrected + imported,
    accepted,
    corrected,
    imported,
    excluded,
    evaluator: parseEvaluator(evaluator),
    updatedAt: isoTime(updatedAt),
  }
}

/** A stored evaluator, or the default one. */
export const parseEvaluator = (stored: string | null): v.InferOutput<typeof Evaluator> =>
  stored === null ? {} : JSON.parse(stored)

const Head = {
  id: described(Uuid, "The span's ID, or the imported example's ID"),
  spanId: described(v.nullable(Uuid), 'Null for an imported example'),
  traceId: described(v.nullable(Uuid), 'Null for an imported example'),
  decision: described(v.nullable(v.picklist(['accept', 'correct'])), 'Null for an imported example'),
  by: v.nullable(Uuid),
  at: IsoTime,
  errorType: v.nullable(v.string()),
  promptVersionId: v.nullable(Uuid),
  split: Split,
  stale: described(
    v.boolean(),
    'Whether the output has changed since the decision. Experiments leave such items out by default.',
  ),
  excluded: described(v.boolean(), 'Whether experiments leave the item out'),
  note: v.nullable(v.string()),
}

export const DatasetItem = v.object({
  ...Head,
  input: StoredValue,
  state: v.record(v.string(), StoredValue),
  output: described(StoredValue, 'The output that was judged. Null for an imported example.'),
  expected: described(
    v.array(StoredValue),
    'The approved output first, then alternatives to it that people accepted in experiments',
  ),
  metadata: StoredObject,
  truncated: described(v.array(v.string()), 'Fields shown as previews: input, expected.0, state.<key>, ...'),
})

/** An item without its values. */
export const DatasetItemHead = v.object(Head)

export const toItemHead = (head: ItemHead): v.InferOutput<typeof DatasetItemHead> => {
  const isImported = head.decision === 'import'
  return {
    id: head.id,
    spanId: isImported ? null : head.id,
    traceId: head.traceId,
    decision: head.decision === 'import' ? null : head.decision,
    by: head.userId,
    at: isoTime(head.decidedAt),
    errorType: head.errorType,
    promptVersionId: head.promptVersionId,
    split: head.split,
    stale: head.isStale || head.isStaleNow,
    excluded: head.isExcluded,
    note: head.note,
  }
}

export const toItem = (item: ItemRecord): v.InferOutput<typeof DatasetItem> => ({
  ...toItemHead(item),
  input: item.input,
  state: item.state,
  output: item.output,
  expected: item.expected,
  metadata: item.metadata,
  truncated: item.truncated,
})

/** Returns a dataset. 404 if it doesn't exist, 403 if it belongs to another organization or project. */
export async function requireDataset(
  { caller, store, unscoped }: { caller: Caller; store: Store; unscoped: UnscopedStore },
  id: string,
): Promise<DatasetRecord> {
  return requireFound(caller, await findDataset(store, id), () => isForeignDataset(unscoped, store.organization, id))
}

/** The parts of a dataset at a version, by default the current one. 400 if the dataset never had that version. */
export async function partsAt(dataset: DatasetRecord, version: string | undefined): Promise<DatasetPart[]> {
  if (version === undefined) return dataset.parts
  const parts = await readVersion(version, dataset.parts)
  if (!parts) throw badRequest('is not a version of this dataset', 'version')
  return parts
}
