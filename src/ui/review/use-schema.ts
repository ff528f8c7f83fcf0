import { useQuery } from '@tanstack/react-query'
import type { Json, SpanOfTrace } from '../api/wire.ts'
import { promptQuery, promptsQuery } from './queries.ts'

export type JsonObject = { [name: string]: Json }

/**
 * The schema for a span's approved output: from the prompt version that the span names, or else from its step's active
 * version. Null if there is none; undefined while loading.
 */
export function useSchema(span: SpanOfTrace, projectSlug: string | undefined): JsonObject | null | undefined {
  const { data: listed, isError } = useQuery(promptsQuery(projectSlug))
  const named = span.promptVersionId
  const active = listed?.prompts.find(({ versionId, stepId }) =>
    named === null ? stepId === span.stepId : versionId === named,
  )
  // The span may name an older version of the step's prompt.
  const prompt = active ? undefined : listed?.prompts.find(({ stepId }) => stepId === span.stepId)
  const isOlder = named !== null && prompt !== undefined
  const { data: detail, isError: isMissing } = useQuery({ ...promptQuery(prompt?.id ?? ''), enabled: isOlder })
  if (active) return schemaIn(active.outputSchema)
  if (isError || isMissing || (listed && !isOlder)) return null
  if (!detail) return undefined
  return schemaIn(detail.versions.find(({ id }) => id === named)?.outputSchema ?? null)
}

/** The API returns an empty schema for a prompt that has none. */
const schemaIn = (shown: Json): JsonObject | null =>
  typeof shown === 'object' && shown !== null && !Array.isArray(shown) && Object.keys(shown).length > 0 ? shown : null
