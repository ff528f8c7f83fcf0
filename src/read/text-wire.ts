import * as v from 'valibot'
import { JsonText } from '../domain/json.ts'
import { described, IsoTime, isoTime, StoredObject, Uuid } from '../http/atoms.ts'
import type { GateRecord } from '../store/experiments/gates.ts'
import type { GuidelineRecord } from '../store/texts/guidelines.ts'
import type { ActiveText, PromptRecord, TextDetail, TextVersion } from '../store/texts/versioned-texts.ts'
import type { Watch as WatchRecord } from '../store/texts/watch.ts'
import { Gate, toGate } from './gate.ts'
import { toWatch, Watch } from './watch.ts'

/* The schemas of prompts and knowledge docs. They differ only in the names of fields and in the prompt's schema. */

const VersionId = v.pipe(
  Uuid,
  v.metadata({ description: 'The active version. Pipelines record it as prompt_version_id.' }),
)
const OfVersion = {
  versionNumber: described(v.number(), "The active version's number. 1 is the first."),
  versionCreatedAt: described(IsoTime, 'When the active version was written'),
}
const UpdatedAt = v.pipe(IsoTime, v.metadata({ description: 'When the active version became active' }))

export const Prompt = v.object({
  id: Uuid,
  stepId: v.string(),
  versionId: VersionId,
  ...OfVersion,
  content: v.string(),
  outputSchema: StoredObject,
  createdAt: IsoTime,
  updatedAt: UpdatedAt,
})

export const KnowledgeDoc = v.object({
  id: Uuid,
  slug: v.string(),
  title: v.string(),
  versionId: v.pipe(Uuid, v.metadata({ description: 'The active version' })),
  ...OfVersion,
  content: v.string(),
  createdAt: IsoTime,
  updatedAt: UpdatedAt,
})

export const KnowledgeDocVersion = v.object({
  id: Uuid,
  number: v.pipe(
    v.number(),
    v.metadata({ description: "The version's number. 1 is the first. Numbers are never reused." }),
  ),
  content: v.string(),
  note: v.nullable(v.string()),
  isActive: v.boolean(),
  createdAt: IsoTime,
})

/** Counts of current decisions. */
export const Decided = {
  accepted: v.pipe(v.number(), v.metadata({ description: 'The number of current decisions that accept an output' })),
  corrected: v.pipe(v.number(), v.metadata({ description: 'The number of current decisions that correct an output' })),
}

export const PromptVersion = v.object({ ...KnowledgeDocVersion.entries, outputSchema: StoredObject })

export const PromptDetail = v.object({
  id: Uuid,
  stepId: v.string(),
  outputSchema: v.pipe(StoredObject, v.metadata({ description: "The active version's schema" })),
  versions: v.array(
    v.object({
      ...PromptVersion.entries,
      ...Decided,
      wasActive: v.pipe(
        v.boolean(),
        v.metadata({
          description:
            'Whether this version is active or was active before. If so, it can become active again without meeting the gate.',
        }),
      ),
      suggestedFor: described(
        v.nullable(Uuid),
        'The problem that a model wrote this version for. Null if a person or a pipeline wrote it.',
      ),
    }),
  ),
  gate: v.pipe(v.nullable(Gate), v.metadata({ description: "The step's gate. Null if the step has no gate." })),
  watch: described(
    v.nullable(Watch),
    'Compares the active version with the previous one. Null if no version was active before.',
  ),
})

export const KnowledgeDocDetail = v.object({
  id: Uuid,
  slug: v.string(),
  title: v.string(),
  versions: v.array(KnowledgeDocVersion),
})

const NO_SCHEMA = new JsonText('{}')

const activeFields = ({
  id,
  versionId,
  versionNumber,
  versionCreatedAt,
  content,
  createdAt,
  activatedAt,
}: ActiveText) => ({
  id,
  versionId,
  versionNumber,
  versionCreatedAt: isoTime(versionCreatedAt),
  content,
  createdAt: isoTime(createdAt),
  updatedAt: isoTime(activatedAt),
})

export const toPrompt = (text: ActiveText): v.InferOutput<typeof Prompt> => ({
  ...activeFields(text),
  stepId: text.name,
  outputSchema: text.outputSchema ?? NO_SCHEMA,
})

export const toKnowledgeDoc = (text: ActiveText): v.InferOutput<typeof KnowledgeDoc> => ({
  ...activeFields(text),
  slug: text.name,
  title: text.title,
})

export const toKnowledgeDocVersion = (version: TextVersion): v.InferOutput<typeof KnowledgeDocVersion> => ({
  id: version.id,
  number: version.number,
  content: version.content,
  note: version.note,
  isActive: version.isActive,
  createdAt: isoTime(version.createdAt),
})

export const toPromptVersion = (version: TextVersion): v.InferOutput<typeof PromptVersion> => ({
  ...toKnowledgeDocVersion(version),
  outputSchema: version.outputSchema ?? NO_SCHEMA,
})

export const toPromptDetail = (
  { id, name, versions, decided, activated, suggested }: PromptRecord,
  gate: GateRecord | undefined,
  watch: WatchRecord | undefined,
): v.InferOutput<typeof PromptDetail> => ({
  id,
  stepId: name,
  outputSchema: versions.find(({ isActive }) => isActive)?.outputSchema ?? NO_SCHEMA,
  versions: versions.map(version => ({
    ...toPromptVersion(version),
    ...(decided.get(version.id) ?? { accepted: 0, corrected: 0 }),
    wasActive: activated.has(version.id),
    suggestedFor: suggested.get(version.id) ?? null,
  })),
  gate: gate ? toGate(gate) : null,
  watch: watch ? toWatch(watch) : null,
})

export const toKnowledgeDocDetail = (text: TextDetail): v.InferOutput<typeof KnowledgeDocDetail> => ({
  id: text.id,
  slug: text.name,
  title: text.title,
  versions: text.versions.map(toKnowledgeDocVersion),
})

/** What reviewers need to know to judge a step's output. */
export const Guideline = v.object({
  id: described(Uuid, "The `targetId` of the guideline's entries in the audit log"),
  text: described(v.string(), 'Markdown. Empty if the step has no guideline.'),
  updatedAt: described(v.nullable(IsoTime), 'Null if it was never set'),
})

export const toGuideline = ({ id, text, updatedAt }: GuidelineRecord): v.InferOutput<typeof Guideline> => ({
  id,
  text,
  updatedAt: updatedAt === null ? null : isoTime(updatedAt),
})
