import * as v from 'valibot'
import { endpoint } from './api/endpoint.ts'
import { ERRORS } from './http/errors.ts'
import { requireDatabases } from './store/core/store.ts'

const Status = v.object({ status: v.literal('ok') })

export const checkHealth = endpoint({
  family: 'operation',
  method: 'GET',
  path: '/healthz',
  summary: 'Check that the Worker is running',
  description: "Doesn't check the databases or anything else that the Worker depends on.",
  scope: 'public',
  responses: { 200: Status },
  example: {
    answers: { 200: { status: 'ok' } },
  },
}).handle(async () => ({ status: 200, body: { status: 'ok' } }))

export const checkReadiness = endpoint({
  family: 'operation',
  method: 'GET',
  path: '/readyz',
  summary: 'Check that the databases are reachable and migrated',
  scope: 'public',
  isLimitedByAddress: true,
  errors: { 503: ERRORS[503].message },
  responses: { 200: Status },
  example: {
    answers: { 200: { status: 'ok' } },
  },
}).handle(async ({ unscoped }) => {
  await requireDatabases(unscoped)
  return { status: 200, body: { status: 'ok' } }
})
