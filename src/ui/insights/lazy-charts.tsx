import { Skeleton } from '@mantine/core'
import { lazy, Suspense } from 'react'
import { PANEL_HEIGHT, THROUGHPUT_HEIGHT } from './chart-size.ts'
import type { AcceptancePanelProps, ThroughputChartProps, UsageChartProps } from './charts.tsx'

/*
 * The charts, loaded in parallel with their data.
 */

const load = () => import('./charts.tsx')

const LazyAcceptancePanel = lazy(async () => ({ default: (await load()).AcceptancePanel }))
const LazyThroughputChart = lazy(async () => ({ default: (await load()).ThroughputChart }))
const LazyUsageChart = lazy(async () => ({ default: (await load()).UsageChart }))

/** Preloads the charts. A failure is reported when a chart is shown. */
export const loadCharts = (): void => void load().catch(() => undefined)

export const AcceptancePanel = (props: AcceptancePanelProps) => (
  <Suspense fallback={<Skeleton h={PANEL_HEIGHT} />}>
    <LazyAcceptancePanel {...props} />
  </Suspense>
)

export const ThroughputChart = (props: ThroughputChartProps) => (
  <Suspense fallback={<Skeleton h={THROUGHPUT_HEIGHT} />}>
    <LazyThroughputChart {...props} />
  </Suspense>
)

export const UsageChart = (props: UsageChartProps) => (
  <Suspense fallback={<Skeleton h={THROUGHPUT_HEIGHT} />}>
    <LazyUsageChart {...props} />
  </Suspense>
)
