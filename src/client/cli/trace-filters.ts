import type { Options } from './command.ts'
import { invalid } from './failure.ts'

/** The options that select traces. */
export const traceFilterOptions = {
  name: { type: 'text', value: 'name', description: 'Only traces with this name.' },
  status: { type: 'choice', choices: ['running', 'completed'], description: 'Only traces with this status.' },
  step: { type: 'text', value: 'step', description: 'Only traces that ran this step.' },
  promptVersion: { type: 'text', value: 'id', description: 'Only traces that used this version of a prompt.' },
  review: {
    type: 'choice',
    choices: ['unreviewed', 'accepted', 'corrected', 'mixed'],
    description: 'Only traces in this review state.',
  },
  rating: { type: 'choice', choices: ['positive', 'negative'], description: 'Only traces with this feedback.' },
  errorType: { type: 'text', value: 'type', description: 'Only traces with this type of error.' },
  contains: { type: 'text', value: 'text', description: 'Only traces whose values contain this text.' },
  metadata: { type: 'texts', value: 'path=value', description: 'Only traces with this metadata.' },
  from: {
    type: 'text',
    value: 'time',
    description: 'Only traces from this time on: a date (2026-11-24), or a date and time.',
  },
  to: { type: 'text', value: 'time', description: 'Only traces before this time.' },
} as const satisfies Options

interface TraceFilterInput {
  name: string | undefined
  status: string | undefined
  step: string | undefined
  promptVersion: string | undefined
  review: string | undefined
  rating: string | undefined
  errorType: string | undefined
  contains: string | undefined
  metadata: readonly string[]
  from: string | undefined
  to: string | undefined
}

/** The API query for these options. */
export function traceQuery({ step, promptVersion, metadata, from, to, ...filters }: TraceFilterInput) {
  const { name, status, review, rating, errorType, contains } = filters
  const fields = metadata.map(field => {
    const at = field.indexOf('=')
    if (at < 1) throw invalid(`--metadata must have the form path=value: ${field}`)
    return [`metadata.${field.slice(0, at)}`, field.slice(at + 1)] as const
  })
  const query = { name, status, review, rating, errorType, contains, stepId: step, promptVersionId: promptVersion }
  return { ...query, from: timeOf('--from', from), to: timeOf('--to', to), ...Object.fromEntries(fields) }
}

/** A time in the API's format. A date alone means 00:00 UTC on that day. */
function timeOf(flag: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  const time = new Date(text)
  if (Number.isNaN(time.getTime())) throw invalid(`${flag} must be a date or a time: ${text}`)
  return time.toISOString()
}
