import { describe, it } from 'vitest'
import { isPrintedObject, pythonLiteral } from '../../src/otlp/reading/python.ts'
import { parsed } from '../../src/otlp/reading/serialized.ts'
import { anotherRun } from '../support/another-run.ts'
import { recordedLogs, recordedSpans } from '../support/decoded-telemetry.ts'
import { recorded } from '../support/recorded.ts'
import { pageOf, type Sent, stepsIn, tracesOf } from '../support/shown-runs.ts'

/*
 * Checks what people see of each recorded client's traces. Review a change to a page in `clients/` like a change to the
 * app. `npx vitest run --project functions test/otlp/clients.test.ts -u` writes the pages.
 */

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

  it('shows values that a reader can use', async ({ expect }) => {
    for (const { kind, stepId, input, output, state, metadata } of stepsIn(tracesOf(await sentBy(directory)))) {
      expect(stepId).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}-|0x[0-9a-f]{6}/)
      // No vectors, wherever they may be.
      expect(JSON.stringify({ input, output, state: [...state], metadata })).not.toMatch(/(?:-?\d\.\d+,){8}/)
      // No JSON or printed object as a string, except in what a model wrote or read.
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
