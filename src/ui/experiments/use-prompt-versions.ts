import { useQueries, useQuery } from '@tanstack/react-query'
import { promptsQuery } from '../review/queries.ts'
import { PROMPTS, type VersionedText } from '../texts/kinds.ts'
import { textQuery } from '../texts/queries.ts'

export interface PromptVersions {
  /** Whether all versions are loaded. */
  isComplete: boolean
  prompts: readonly VersionedText[]
}

/** A project's prompts, with only their active versions. */
export const useProjectPrompts = (project: string | undefined) => useQuery(promptsQuery(project))

/** The prompts of steps, with all their versions. */
export function usePromptVersions(project: string | undefined, steps: readonly (string | undefined)[]): PromptVersions {
  const { data } = useProjectPrompts(project)
  const ids = (data?.prompts ?? []).filter(({ stepId }) => steps.includes(stepId)).map(({ id }) => id)
  return useQueries({
    queries: ids.map(id => textQuery(PROMPTS, id)),
    combine: results => ({
      isComplete: data !== undefined && results.every(({ data }) => data !== undefined),
      prompts: results.flatMap(({ data }) => data ?? []),
    }),
  })
}
