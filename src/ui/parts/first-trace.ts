import { useState } from 'react'
import { curlOf } from './curl.ts'

/** The command that sends a project's first trace. It works with any key that can ingest into the project. */
export function useFirstTrace(projectSlug: string): string {
  const [moment] = useState(() => new Date())
  return curlOf('/api/v1/batch', { method: 'POST', body: firstBatch(moment, projectSlug), projectSlug })
}

/**
 * A batch with one completed run that has an input and an output to review. The output belongs to the trace as a whole,
 * so it needs no span ID. Sending it again updates the same trace.
 */
function firstBatch(moment: Date, project: string) {
  const timestamp = moment.toISOString()
  const trace_id = `trace_first_${timestamp.slice(0, 19).replaceAll(/\D/g, '')}`
  const observation = (type: 'input' | 'output', data: object) => ({
    type: 'observation',
    body: { trace_id, type, data, timestamp },
  })
  return {
    events: [
      {
        type: 'trace',
        body: {
          trace_id,
          name: 'first-answer',
          timestamp,
          status: 'completed',
          duration_ms: 840,
          metadata: { from: `first steps of ${project}` },
        },
      },
      observation('input', { question: 'Can I return an opened item?' }),
      observation('output', { answer: 'Yes, within 30 days.' }),
    ],
  }
}
