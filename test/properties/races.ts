import type { Env } from '../../src/env.ts'
import { isSharded } from '../support/database.ts'
import { isCommand, type Racer } from './commands.ts'
import { apply, detailOf, type Fields, type Ids, type ModelResponse, type Query, type World } from './model.ts'
import { modelResponseOf, runJob, sendOne, type Tenant } from './service.ts'
import {
  brief,
  type Detail,
  detailIn,
  emailsOf,
  expectedView,
  settled,
  settledItem,
  textOf,
  type View,
} from './view.ts'

/** What a racer observed: a response to a call, the trace as a read returns it, or nothing for a job. */
type Observed = { response: ModelResponse } | { detail: Detail | null } | { done: true }

/** Runs one racer, while others run at the same time. */
export async function race(tenant: Tenant, racer: Racer, bindings: Env): Promise<Observed> {
  const client = tenant.on(bindings)
  if (isCommand(racer)) return { response: modelResponseOf(await sendOne(client, racer, tenant.ids)) }
  if (racer.type === 'deliver') {
    await runJob(tenant, racer, bindings)
    return { done: true }
  }
  const { status, body } = await client.get(`/api/traces/${tenant.ids.trace(racer.trace_id)}`)
  if (status !== 200 && status !== 404) throw new Error(`reading the trace returned ${status}`)
  return { detail: status === 200 ? body : null }
}

interface Race {
  racers: readonly Racer[]
  results: readonly Observed[]
  /** The time by which all racers had arrived. */
  at: number
  queries: readonly Query[]
  /** The view after the race. */
  view: View
}

/** Throws unless some order of the racers explains each one's observations and the final view. */
export async function assertExplainable(tenant: Tenant, before: World, run: Race): Promise<void> {
  const { ids } = tenant
  const { racers, at, queries, view } = run
  const emails = await emailsOf(tenant.client)
  const results = run.results.map(result => ('detail' in result ? { detail: detailIn(result.detail, emails) } : result))
  const outcomes: string[] = []
  const isExplained = (world: World, left: readonly number[]): boolean => {
    if (left.length === 0) {
      const expected = expectedView(world, ids, queries)
      outcomes.push(textOf(expected))
      return textOf(settled(view, expected)) === textOf(expected)
    }
    return left.some(index => {
      const [racer, result] = [racers[index], results[index]]
      const next = racer && result && worldAfter(world, racer, result, { at, ids })
      return (
        next !== undefined &&
        isExplained(
          next,
          left.filter(other => other !== index),
        )
      )
    })
  }
  if (isExplained(before, [...racers.keys()])) return
  const possible = [...new Set(outcomes)]
  throw new Error(
    brief(
      `no order of the calls explains\n${textOf(results)}\nand\n${textOf(view)}\nexpected one of\n${possible.join('\nor\n')}`,
    ),
  )
}

/** The world after a racer, or undefined if that world doesn't explain what the racer observed. */
function worldAfter(
  world: World,
  racer: Racer,
  result: { response: ModelResponse } | { detail: Fields | null } | { done: true },
  { at, ids }: { at: number; ids: Ids },
): World | undefined {
  if (isCommand(racer)) {
    // If a trace is deleted while a call changes it, the trace can be created again only in its new epoch's database.
    const mayBeRefused = isSharded && racer.type === 'trace'
    if (mayBeRefused && 'response' in result && result.response.status === 503) return world
    const [next, expected] = apply(world, racer, { at, place: 0 }, ids)
    return textOf({ response: expected }) === textOf(result) ? next : undefined
  }
  if (racer.type === 'deliver') return world
  const detail = 'detail' in result ? result.detail : null
  const expected = detailOf(world, racer.trace_id, ids) ?? null
  return textOf({ expected }) === textOf({ expected: settledItem(detail, expected) }) ? world : undefined
}
