import { useQuery } from '@tanstack/react-query'
import { useCallback, useMemo } from 'react'
import { errorTypesQuery } from '../api/error-types.ts'
import { useProject } from '../session/project.ts'

/** What people call an error type; its identifier where it is not known (yet). */
export function useErrorTypeNames(): (errorType: string) => string {
  const { data } = useQuery(errorTypesQuery(useProject()))
  const names = useMemo(() => new Map(data?.errorTypes.map(({ errorType, name }) => [errorType, name])), [data])
  return useCallback(errorType => names.get(errorType) ?? errorType, [names])
}
