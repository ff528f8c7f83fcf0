import { keepPreviousData, queryOptions, skipToken } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import { queryClient } from '../api/query-client.ts'
import type { AssignmentResult } from '../api/wire.ts'

/** The spans to assign: specific spans in a project, or part of its queue. */
export type Assigned = { spanIds: readonly string[] } | { filter: Readonly<Record<string, string>> }

/** What to assign to whom, in the API's format. */
export interface AssignmentDraft {
  spans: Assigned
  userIds: readonly string[]
  /** Moves only this person's assignments. */
  fromUserId?: string | undefined
  replace: boolean
  dueAt?: string | undefined
}

const post = (
  { spans, ...draft }: AssignmentDraft,
  more: { preview?: true; cursor?: string },
  signal?: AbortSignal,
): Promise<AssignmentResult> =>
  call('/api/review-queue/assign', {
    method: 'POST',
    body: { ...spans, ...draft, ...more },
    ...(signal && { signal }),
  })

/** Previews the first of the calls that assign the spans. */
export const assignmentPreview = (draft: AssignmentDraft | undefined) =>
  queryOptions({
    queryKey: ['assignment-preview', draft],
    queryFn: draft ? ({ signal }) => post(draft, { preview: true }, signal) : skipToken,
    placeholderData: keepPreviousData,
    gcTime: 0,
  })

/** Assigns spans in as many calls as it takes. Returns how many assignments were added and how many were removed. */
export async function assign(draft: AssignmentDraft): Promise<{ given: number; ended: number }> {
  let [given, ended] = [0, 0]
  let cursor: string | null | undefined
  do {
    const result = await post(draft, typeof cursor === 'string' ? { cursor } : {})
    given += result.assigned.reduce((sum, { spans }) => sum + spans, 0)
    ended += result.ended
    cursor = result.nextCursor
  } while (cursor !== null)
  for (const list of ['review-queue', 'spans', 'review-progress']) {
    void queryClient.invalidateQueries({ queryKey: [list] })
  }
  return { given, ended }
}
