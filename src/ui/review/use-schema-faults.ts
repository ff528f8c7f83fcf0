import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { OutputCheck, SchemaFault } from '../../domain/output-schema.ts'
import type { Json } from '../api/wire.ts'
import type { JsonObject } from './use-schema.ts'

/** Checked before it is sent; past this the service's word is waited for. */
const MAX_CHECKED_LENGTH = 200_000

/** The check that the service itself makes, loaded once something is there to be checked. */
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

/** Where a value breaks its schema, as far as that can be said at once. */
export function faultsOf(check: OutputCheck | undefined, value: Json, field: string): SchemaFault[] {
  const json = JSON.stringify(value)
  if (check === undefined || json.length > MAX_CHECKED_LENGTH) return []
  const result = check(json, field)
  return 'faults' in result ? result.faults : [{ path: field, message: `cannot be checked: ${result.unchecked}` }]
}
