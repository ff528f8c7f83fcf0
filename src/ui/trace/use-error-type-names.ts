import { useQuery } from '@tanstack/react-query'
import { useCallback, useMemo } from 'react'
import { useProject } from '../session/project.ts'
import { errorTypesQuery } from '../traces/queries.ts'

/** What people call an error type; its identifier where it is not known (yet). */
export function useErrorTypeNames(): (errorType: string) => string {
  const { data } = useQuery(errorTypesQuery(useProject()))
  const names = useMemo(() => new Map(data?.errorTypes.map(({ errorType, name }) => [errorType, name])), [data])
  return useCallback(errorType => names.get(errorType) ?? errorType, [names])
}
