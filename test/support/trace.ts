import { anObservation, aTrace } from './builders.ts'
import { newOrg } from './org.ts'

/** A tenant with an empty trace, and how its root span reads. */
export async function newTrace() {
  const org = await newOrg()
  const trace = aTrace()
  const { id } = (await org.ingest.post('/api/v1/traces', trace)).body
  const observe = (fields: object) =>
    org.ingest.post('/api/v1/observations', anObservation({ trace_id: trace.trace_id, ...fields }))
  const span = async () => (await org.read.get(`/api/traces/${id}`)).body.spans[0]
  return { org, trace_id: trace.trace_id, id, observe, span }
}
