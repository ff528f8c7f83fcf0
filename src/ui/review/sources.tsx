import { Skeleton } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { PropsWithChildren } from 'react'
import type { SpanOfTrace } from '../api/wire.ts'
import { sourcesQuery } from '../sources/queries.ts'
import { SourceList } from '../sources/source-list.tsx'
import { Guideline } from './guideline.tsx'

/**
 * What an output is based on and judged by. The children appear once all of that has loaded, so that nothing moves
 * while people read.
 */
export function Sources({ span, children }: PropsWithChildren<{ span: SpanOfTrace }>) {
  const { data, isPending } = useQuery(sourcesQuery(span.id))
  if (isPending) return <Skeleton h="6rem" />
  return (
    <>
      <Guideline span={span} />
      {data && <SourceList span={{ id: span.id, traceId: span.trace.id }} sources={data} />}
      {children}
    </>
  )
}
