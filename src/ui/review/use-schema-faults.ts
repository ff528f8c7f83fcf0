import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { OutputCheck, SchemaFault } from '../../domain/output-schema.ts'
import type { Json } from '../api/wire.ts'
import type { JsonObject } from './use-schema.ts'

/** Longer values are checked by the service alone. */
const MAX_CHECKED_LENGTH = 200_000

/** The service's own check, loaded once there is a schema. */
export function useOutputCheck(schema: JsonObject | null | undefined): OutputCheck | undefined {
  const { data: outputCheck } = useQuery({
    queryKey: ['review', 'output-check'],
    queryFn: async () => (await import('../../domain/output-schema.ts')).outputCheck,
    enabled: schema !== null && schema !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: Number.POSITIVE_INFINITY,
  })
  return useMemo(() => (outputCheck && schema ? outputCheck(JSON.stringify(schema)) : undefined), [outputCheck, schema])
}

/** Where a value doesn't match its schema, as far as the page can tell. */
export function faultsOf(check: OutputCheck | undefined, value: Json, field: string): SchemaFault[] {
  const json = JSON.stringify(value)
  if (check === undefined || json.length > MAX_CHECKED_LENGTH) return []
  const result = check(json, field)
  return 'faults' in result ? result.faults : [{ path: field, message: `can't be checked: ${result.unchecked}` }]
}
