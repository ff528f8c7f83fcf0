import { tmpdir } from 'node:os'
import { cloudflareTest, readD1Migrations } from '@cloudflare/vitest-plugin'
import { defineConfig } from 'vitest/config'

/** Runs tests in workerd, with the bindings of wrangler.toml. */
export const inWorkerd = () =>
  cloudflareTest(async () => ({
    wrangler: { configPath: 'wrangler.toml' },
    miniflare: {
      bindings: {
        ADMIN_TOKEN: 'admin-token-of-the-tests',
        MIGRATIONS: await readD1Migrations('migrations'),
        FUZZ_SECONDS: process.env.FUZZ_SECONDS ?? '',
        FUZZ_SEED: process.env.FUZZ_SEED ?? '',
        ALL_FAULTS: process.env.ALL_FAULTS ?? '',
      },
    },
  }))

/** Tests of functions that ask nothing of the platform. Each other file has a Worker and storage of its own. */
const FUNCTIONS = [
  'test/attribution/{difference,evidence,hostile,rules,terms}.test.ts',
  'test/domain/**/*.test.ts',
  'test/otlp/conventions/**/*.test.ts',
  'test/otlp/{any-span,body,encode,exported,fit,hostile,json,log-messages,map,protobuf,quirks,recorded,trace-facts}.test.ts',
  'test/rate-limit/window.test.ts',
  'test/store/isolate-cache.test.ts',
]

const provide = {
  propertySeed: Number(process.env.PROPERTY_SEED ?? 1),
  propertyRuns: Number(process.env.PROPERTY_RUNS ?? 1),
}

export default defineConfig({
  test: {
    provide,
    projects: [
      {
        plugins: [inWorkerd()],
        test: {
          name: 'worker',
          include: ['test/**/*.test.ts'],
          exclude: ['test/scripts/**', 'test/ui/**', ...FUNCTIONS],
          setupFiles: ['test/support/migrate.ts', 'test/support/seed.ts'],
          // The second is a model's provider, which has to be outside of workerd to be asked over HTTP.
          globalSetup: ['test/scripts/in-memory.ts', 'test/scripts/model-server.ts'],
          // Tests wait for storage as much as they compute; one worker a core but one, the default, is one of two.
          maxWorkers: 2,
          // The first test that asks a model loads its library: 2.4 s on a machine at rest, over the default of 5 s on a busy one.
          testTimeout: 30_000,
        },
      },
      {
        // In workerd, as of wrangler.toml's day, but without a binding: a test that wants one fails, and belongs to the Worker's.
        plugins: [cloudflareTest({ miniflare: { compatibilityDate: '2026-10-01' } })],
        test: {
          name: 'functions',
          include: FUNCTIONS,
          setupFiles: ['test/support/seed.ts'],
          // To load the modules for each file would take longer than the tests do.
          isolate: false,
          maxWorkers: 2,
          testTimeout: 30_000,
        },
      },
      {
        test: {
          name: 'scripts',
          include: ['test/scripts/**/*.test.ts'],
          globalSetup: ['test/scripts/pages.ts'],
          // Beside tests in workerd: a start of the service waits as much as it computes.
          maxWorkers: 2,
          testTimeout: 240_000,
          hookTimeout: 240_000,
          // As it is outside of the tests: what is to be in memory says so.
          env: { TMPDIR: tmpdir() },
        },
      },
    ],
  },
})
