import { useQuery } from '@tanstack/react-query'
import type { Json, SpanOfTrace } from '../api/wire.ts'
import { promptQuery, promptsQuery } from './queries.ts'

export type JsonObject = { [name: string]: Json }

/**
 * The schema that a span's approved output is held to: that of the prompt version that the span names, else of its step's
 * active one. Null: there is none; undefined: not known yet.
 */
export function useSchema(span: SpanOfTrace, projectSlug: string | undefined): JsonObject | null | undefined {
  const { data: listed, isError } = useQuery(promptsQuery(projectSlug))
  const named = span.promptVersionId
  const active = listed?.prompts.find(({ versionId, stepId }) =>
    named === null ? stepId === span.stepId : versionId === named,
  )
  // An older version of the step's prompt.
  const prompt = active ? undefined : listed?.prompts.find(({ stepId }) => stepId === span.stepId)
  const isOlder = named !== null && prompt !== undefined
  const { data: detail, isError: isMissing } = useQuery({ ...promptQuery(prompt?.id ?? ''), enabled: isOlder })
  if (active) return schemaIn(active.outputSchema)
  if (isError || isMissing || (listed && !isOlder)) return null
  if (!detail) return undefined
  return schemaIn(detail.versions.find(({ id }) => id === named)?.outputSchema ?? null)
}

/** A prompt without a schema shows an empty one. */
const schemaIn = (shown: Json): JsonObject | null =>
  typeof shown === 'object' && shown !== null && !Array.isArray(shown) && Object.keys(shown).length > 0 ? shown : null
