import type { ProvidedContext } from 'vitest'
import { startVitest, type TestCase } from 'vitest/node'
import { inWorkerd } from '../vitest.config.ts'
import { PROJECT } from './server.ts'

interface TestRun {
  /** The test file, relative to the project's root. */
  file: string
  /** Which tests to run; all if undefined. */
  named?: RegExp
  /** Values for the tests to `inject`. */
  provided?: Partial<ProvidedContext>
}

/** Runs a test file in workerd, as `npm test` does. Returns the tests that ran, with their measurements in `meta`. */
export async function runInWorkerd({ file, named, provided = {} }: TestRun): Promise<TestCase[]> {
  const config = {
    root: PROJECT,
    config: false as const,
    watch: false,
    reporters: [{}],
    include: [file],
    setupFiles: ['test/support/migrate.ts'],
    // A benchmark must not fail because the machine is busy.
    testTimeout: 120_000,
    provide: provided,
    ...(named && { testNamePattern: named }),
  }
  const vitest = await startVitest('test', [], config, { plugins: [inWorkerd()] })
  const tests = vitest.state
    .getTestModules()
    .flatMap(module => [...module.children.allTests()])
    .filter(test => test.result().state !== 'skipped')
  await vitest.close()
  return tests
}
