import type { Endpoint } from '../api/endpoint.ts'
import { postTraceOrExport } from './by-content.ts'
import { exportLogs } from './logs.ts'
import { exportMetrics } from './metrics.ts'
import { exportTraces } from './traces.ts'

export const otlp: readonly Endpoint[] = [
  ...exportTraces.map(each => (each.contract.path === postTraceOrExport.contract.path ? postTraceOrExport : each)),
  ...exportLogs,
  ...exportMetrics,
]
