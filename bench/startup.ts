import * as v from 'valibot'
import { Client } from './client.ts'
import type { Benchmark } from './report.ts'
import { buildWorker, startServer } from './server.ts'
import { median, spreadOf } from './statistics.ts'

/** From the start of workerd to the first answer, beside the least Worker there is, and what of it the script takes. */
export const startup: Benchmark = async ({ isQuick }) => {
  const rounds = isQuick ? 1 : 15
  // Not while the clock runs.
  await buildWorker()
  const ours: number[] = []
  const theirs: number[] = []
  for (let round = 0; round < rounds; round++) {
    ours.push(await firstAnswerMs('countersign', 'GET', '/healthz'))
    theirs.push(await firstAnswerMs('bare', 'PUT', '/'))
  }
  const ratios = ours.map((ms, index) => ms / (theirs[index] ?? Number.NaN))
  const evaluation = await evaluationMs(rounds)
  return [
    {
      title: 'Start-up: from the start of workerd to the first answer, over a bare Worker',
      measurements: [
        {
          what: 'first answer',
          value: median(ratios),
          spread: spreadOf(ratios),
          more: { ms: median(ours), 'bare ms': median(theirs), 'evaluating the script, ms': median(evaluation) },
        },
      ],
    },
  ]
}

async function firstAnswerMs(program: 'countersign' | 'bare', method: 'GET' | 'PUT', path: string): Promise<number> {
  await using server = await startServer([{ name: program, program, database: program }])
  const client = new Client(await server.urlOf(program), {})
  await client.call(method, path)
  return performance.now() - server.startedAt
}

/** Milliseconds in each of so many isolates. */
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
