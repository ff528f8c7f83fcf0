import type { Endpoint } from '../api/endpoint.ts'
import { postTrace } from '../ingest/traces.ts'
import { byContent } from './by-content.ts'
import { exportLogs } from './logs.ts'
import { exportMetrics } from './metrics.ts'
import { exportTraces } from './traces.ts'

export const otlp: readonly Endpoint[] = [
  ...exportTraces.map(each => (each.contract.path === postTrace.contract.path ? byContent(postTrace, each) : each)),
  ...exportLogs,
  ...exportMetrics,
]
