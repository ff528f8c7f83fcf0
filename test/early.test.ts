import { createExecutionContext } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { it } from 'vitest'
import { answer, endpoints } from '../src/app.ts'
import { findEarly } from '../src/early.ts'
import worker from '../src/index.ts'

const OBSERVATIONS = '/api/v1/observations'

it('only endpoints whose paths have no parameters are loaded early', ({ expect }) => {
  const early = endpoints.filter(({ contract: { method, path } }) =>
    findEarly(new Request(`https://countersign.example${path}`, { method })),
  )
  expect(early.map(({ contract }) => contract.path)).toContain(OBSERVATIONS)
  expect(early.filter(({ contract }) => contract.path.includes('{'))).toEqual([])
})

it.for([
  ['an early endpoint', 'GET', '/healthz', {}],
  ['an early endpoint with a query', 'GET', '/healthz?probe=1', {}],
  ['an early endpoint without a key', 'POST', OBSERVATIONS, {}],
  ['an early endpoint with a session', 'POST', OBSERVATIONS, { cookie: 'session=a' }],
  ['a delivery', 'POST', OBSERVATIONS, { 'user-agent': 'Countersign-Webhooks', 'webhook-signature': 'v1,a' }],
  ['HEAD', 'HEAD', '/healthz', {}],
  ['OPTIONS', 'OPTIONS', OBSERVATIONS, {}],
  ['another method', 'PUT', OBSERVATIONS, {}],
  ['a trailing slash', 'POST', `${OBSERVATIONS}/`, {}],
  ['an export on the traces path', 'POST', '/api/v1/traces', { 'content-type': 'application/x-protobuf' }],
  ['another endpoint', 'GET', '/api/traces', {}],
  ['a path without an endpoint', 'GET', '/api/nothing', {}],
] as const)('the Worker responds to %s as the whole app does', async ([, method, path, headers], { expect }) => {
  const respond = async (fetch: typeof worker.fetch) => {
    const request = new Request<unknown, IncomingRequestCfProperties>(`https://countersign.example${path}`, {
      method,
      headers,
    })
    const response = await fetch(request, env, createExecutionContext())
    const requestId = response.headers.get('x-request-id') ?? 'missing'
    const sent = JSON.stringify([response.status, [...response.headers], await response.text()])
    return sent.replaceAll(requestId, 'the request’s id')
  }
  const whole = await respond(answer)
  expect(await respond(worker.fetch)).toBe(whole)
  expect(whole).toContain('the request’s id')
})
