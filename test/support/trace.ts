import { anObservation, aSpan, aTrace } from './builders.ts'
import { newOrg, type Org } from './org.ts'

/** Creates a tenant with an empty trace, and returns functions that send data to the trace and read it. */
export async function newTrace(tenant?: Org) {
  const org = tenant ?? (await newOrg())
  const trace = aTrace()
  const { trace_id } = trace
  const { id } = (await org.ingest.post('/api/v1/traces', trace)).body
  const observe = (fields: object) => org.ingest.post('/api/v1/observations', anObservation({ trace_id, ...fields }))
  const step = (fields: object) => org.ingest.post('/api/v1/spans', aSpan({ trace_id, ...fields }))
  const give = (fields: object) => org.ingest.post('/api/v1/feedback', { trace_id, ...fields })
  const read = async () => (await org.read.get(`/api/traces/${id}`)).body
  const span = async () => (await read()).spans[0]
  /** Reads a single span. */
  const spanOf = async (spanId: string) => (await org.read.get(`/api/spans/${spanId}`)).body
  return { org, trace_id, id, observe, step, give, read, span, spanOf }
}
