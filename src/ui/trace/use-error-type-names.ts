import { useQuery } from '@tanstack/react-query'
import { useCallback, useMemo } from 'react'
import { errorTypesQuery } from '../api/error-types.ts'
import { useProject } from '../session/project.ts'

/** An error type's name, or its identifier while unknown. */
export function useErrorTypeNames(): (errorType: string) => string {
  const { data } = useQuery(errorTypesQuery(useProject()))
  const names = useMemo(() => new Map(data?.errorTypes.map(({ errorType, name }) => [errorType, name])), [data])
  return useCallback(errorType => names.get(errorType) ?? errorType, [names])
}
