import { useQuery } from '@tanstack/react-query'
import { useCallback, useMemo } from 'react'
import { errorTypesQuery } from '../api/error-types.ts'
import { useProject } from './project.ts'

/** The names of the project's error types, in the API's order. Empty while they load. */
export function useErrorTypes(): ReadonlyMap<string, string> {
  const { data } = useQuery(errorTypesQuery(useProject()))
  return useMemo(() => new Map(data?.errorTypes.map(({ errorType, name }) => [errorType, name])), [data])
}

/** An error type's name, or its identifier until the name is known. */
export function useErrorTypeNames(): (errorType: string) => string {
  const names = useErrorTypes()
  return useCallback(errorType => names.get(errorType) ?? errorType, [names])
}
