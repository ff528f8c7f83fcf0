import * as v from 'valibot'
import { Client } from './client.ts'
import type { Benchmark } from './report.ts'
import { buildWorker, startServer } from './server.ts'
import { median, spreadOf } from './statistics.ts'

/** The time from starting workerd to the first response, relative to a minimal Worker, and the script's share of it. */
export const startup: Benchmark = async ({ isQuick }) => {
  const rounds = isQuick ? 1 : 15
  // Builds before the clock starts.
  await buildWorker()
  const countersignMs: number[] = []
  const bareMs: number[] = []
  for (let round = 0; round < rounds; round++) {
    countersignMs.push(await firstAnswerMs('countersign', '/healthz'))
    bareMs.push(await firstAnswerMs('bare', '/'))
  }
  const ratios = countersignMs.map((ms, index) => ms / (bareMs[index] ?? Number.NaN))
  const evaluation = await evaluationMs(rounds)
  return [
    {
      title: 'Startup: from the start of workerd to the first response, relative to a bare Worker',
      measurements: [
        {
          what: 'first answer',
          value: median(ratios),
          spread: spreadOf(ratios),
          more: {
            ms: median(countersignMs),
            'bare ms': median(bareMs),
            'evaluating the script, ms': median(evaluation),
          },
        },
      ],
    },
  ]
}

async function firstAnswerMs(program: 'countersign' | 'bare', path: string): Promise<number> {
  await using server = await startServer([{ name: program, program, database: program }])
  const client = new Client(await server.urlOf(program), {})
  await client.call('GET', path)
  return performance.now() - server.startedAt
}

/** Evaluates the script in this many isolates. Returns how long each evaluation took, in milliseconds. */
async function evaluationMs(isolates: number): Promise<number[]> {
  const names = Array.from({ length: isolates }, (_, index) => `evaluated-${index}`)
  await using server = await startServer(names.map(name => ({ name, program: 'evaluated', database: 'evaluated' })))
  const times: number[] = []
  for (const name of names) {
    const { body } = await new Client(await server.urlOf(name), {}).call('GET', '/')
    times.push(v.parse(v.number(), JSON.parse(body)))
  }
  return times
}
