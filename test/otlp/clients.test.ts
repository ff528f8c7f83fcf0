import { describe, it } from 'vitest'
import { exportedOf } from '../../src/otlp/exported.ts'
import { isPrintedObject, pythonLiteral } from '../../src/otlp/reading/python.ts'
import { parsed } from '../../src/otlp/reading/serialized.ts'
import { anotherRun } from '../support/another-run.ts'
import { recordedLogs, recordedSpans } from '../support/decoded-telemetry.ts'
import { recorded } from '../support/recorded.ts'
import { pageOf, type Sent, stepsIn, tracesOf } from '../support/shown-runs.ts'

/*
 * Checks what people see of each recorded client's traces. Review a change to a page in `clients/` as you would a
 * change to the app. `npx vitest run --project functions test/otlp/clients.test.ts -u` updates the pages.
 */

const A_PROJECT = { key: 1, id: '6e4d2c1b-8a7f-4e5d-9c3b-2a1f0e9d8c61', slug: 'support' }

const directories = [...new Set(recorded().map(({ directory }) => directory))].filter(name => name !== 'quirks')

const sentBy = async (directory: string): Promise<Sent> => ({
  spans: await recordedSpans(directory),
  logs: await recordedLogs(directory),
})

describe.for(directories)('the telemetry of %s', directory => {
  it('matches its page', async ({ expect }) => {
    await expect(pageOf(tracesOf(await sentBy(directory)))).toMatchFileSnapshot(`clients/${directory}.txt`)
  })

  it('has the same step ids in different runs', async ({ expect }) => {
    const sent = await sentBy(directory)
    const [first, second] = [sent, anotherRun(sent)].map(run => stepIds(run))
    expect(second).toEqual(first)
  })

  it('offers each text for review once', async ({ expect }) => {
    const { spans } = await sentBy(directory)
    for (const { spans: exported } of (await exportedOf(A_PROJECT, spans, 'request')).traces) {
      const byId = new Map(exported.map(span => [span.id, span]))
      for (const span of exported.filter(({ reviewability }) => reviewability === 'always')) {
        for (let above = byId.get(span.parentId); above; above = byId.get(above.parentId)) {
          const isOffered = above.reviewability === 'always' && byId.has(above.parentId)
          if (isOffered && span.textHash !== null) expect(above.textHash, above.stepId).not.toBe(span.textHash)
        }
      }
    }
  })

  it('shows values that a reader can use', async ({ expect }) => {
    for (const { kind, stepId, input, output, state, metadata } of stepsIn(tracesOf(await sentBy(directory)))) {
      expect(stepId).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}-|0x[0-9a-f]{6}/)
      // There are no vectors anywhere.
      expect(JSON.stringify({ input, output, state: [...state], metadata })).not.toMatch(/(?:-?\d\.\d+,){8}/)
      // No string is JSON or a printed object, except in a model's input or output.
      const values = kind === 'tool' ? [input, output] : kind === 'llm' ? [] : [output]
      for (const value of values) {
        if (typeof value !== 'string') continue
        expect(parsed(value), stepId).toBe(value)
        expect(pythonLiteral(value), stepId).toBe(undefined)
        expect(isPrintedObject(value), stepId).toBe(false)
      }
    }
  })
})

const stepIds = (sent: Sent): string[] => [...new Set(stepsIn(tracesOf(sent)).map(({ stepId }) => stepId))].toSorted()
