import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import type { GateState, VersionDiff } from '../api/wire.ts'
import type { TextKind } from './kinds.ts'

/** A project's texts of one kind, by name. */
export const textsQuery = (kind: TextKind, projectSlug: string | undefined) =>
  infiniteQueryOptions({
    queryKey: ['texts', kind.key, projectSlug],
    queryFn: ({ pageParam, signal }) => kind.readList({ projectSlug: projectSlug ?? '', cursor: pageParam }, signal),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    enabled: projectSlug !== undefined,
    placeholderData: keepPreviousData,
  })

/** A text with all its versions. */
export const textQuery = (kind: TextKind, id: string) =>
  queryOptions({ queryKey: ['text', kind.key, id], queryFn: ({ signal }) => kind.read(id, signal) })

/** The differences between two versions. Cached indefinitely: versions never change. */
export const versionDiffQuery = (kind: TextKind, id: string, before: string, after: string) =>
  queryOptions({
    queryKey: ['version-diff', kind.key, id, before, after],
    queryFn: ({ signal }) => call<VersionDiff>(`${kind.api}/${id}/versions/${before}/diff/${after}`, { signal }),
    staleTime: Number.POSITIVE_INFINITY,
  })

/** Whether a version of a step's prompt meets the step's gate. */
export const gateStateQuery = (projectId: string | undefined, stepId: string, versionId: string) =>
  queryOptions({
    queryKey: ['gate', projectId, stepId, versionId],
    queryFn: ({ signal }) => call<GateState>(gatePath(projectId ?? '', stepId), { query: { versionId }, signal }),
    // An experiment may have finished just now.
    staleTime: 0,
    enabled: projectId !== undefined,
  })

export const gatePath = (projectId: string, stepId: string): string =>
  `/api/projects/${encodeURIComponent(projectId)}/gates/${encodeURIComponent(stepId)}`
