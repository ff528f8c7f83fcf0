import { describe, it } from 'vitest'
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

  it('has the same step ids in another run', async ({ expect }) => {
    const sent = await sentBy(directory)
    const [first, second] = [sent, anotherRun(sent)].map(run => stepIds(run))
    expect(second).toEqual(first)
  })
})

const stepIds = (sent: Sent): string[] => [...new Set(stepsIn(tracesOf(sent)).map(({ stepId }) => stepId))].toSorted()
