import type { ProvidedContext } from 'vitest'
import { startVitest, type TestCase } from 'vitest/node'
import { inWorkerd } from '../vitest.config.ts'
import { PROJECT } from './server.ts'

interface TestRun {
  /** From the root of the project. */
  file: string
  /** Which tests; undefined: all of them. */
  named?: RegExp
  /** What the tests `inject`. */
  provided?: Partial<ProvidedContext>
}

/** Runs a file of tests in workerd, as `npm test` does. Returns those that ran, which have what they measured in their `meta`. */
export async function runInWorkerd({ file, named, provided = {} }: TestRun): Promise<TestCase[]> {
  const config = {
    root: PROJECT,
    config: false as const,
    watch: false,
    reporters: [{}],
    include: [file],
    setupFiles: ['test/support/migrate.ts'],
    // A busy machine must not end a benchmark.
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
