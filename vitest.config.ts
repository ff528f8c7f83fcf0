import { tmpdir } from 'node:os'
import { cloudflareTest, readD1Migrations } from '@cloudflare/vitest-plugin'
import { defineConfig } from 'vitest/config'

/** Runs tests in workerd, with the bindings of wrangler.toml. */
export const inWorkerd = () =>
  cloudflareTest(async () => ({
    main: 'src/index.ts',
    wrangler: { configPath: 'wrangler.toml' },
    miniflare: {
      bindings: {
        ADMIN_TOKEN: 'admin-token-of-the-tests',
        WEBHOOK_KEY: 'webhook-key-of-the-tests-only',
        MIGRATIONS: await readD1Migrations('migrations'),
        FUZZ_SECONDS: process.env.FUZZ_SECONDS ?? '',
        FUZZ_SEED: process.env.FUZZ_SEED ?? '',
        ALL_FAULTS: process.env.ALL_FAULTS ?? '',
        REPLICA_LAG: process.env.REPLICA_LAG ?? '',
      },
      d1Databases: { REPLICA: 'replica', ...shards() },
    },
  }))

/** `SHARDS=2` runs the suites with two databases for traces, DB_1 and DB_2, and a replica database for each. */
const shards = () =>
  Object.fromEntries(
    Array.from({ length: Number(process.env.SHARDS ?? 0) }, (_, i) => [
      [`DB_${i + 1}`, `shard-${i + 1}`],
      [`REPLICA_${i + 1}`, `replica-${i + 1}`],
    ]).flat(),
  )

/** Tests of functions that don't need the platform. Every other test file gets its own storage. */
const FUNCTIONS = [
  'test/attribution/{difference,evidence,hostile,rules,terms}.test.ts',
  'test/domain/**/*.test.ts',
  'test/mcp/fitted.test.ts',
  'test/experiments/judge-question.test.ts',
  'test/problems/{answer,question}.test.ts',
  'test/otlp/conventions/**/*.test.ts',
  'test/otlp/{any-span,body,clients,encode,exported,fit,hostile,json,log-messages,map,protobuf,quirks,recorded,trace-facts}.test.ts',
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
          exclude: [
            'test/scripts/**',
            'test/ui/**',
            ...FUNCTIONS,
            // This test has a replica of only one database.
            ...(process.env.SHARDS ? ['test/read/replicas.test.ts'] : []),
            // These tests send requests without bookmarks, but REPLICA_LAG adds a bookmark to every request.
            ...(process.env.REPLICA_LAG ? ['test/read/{near-texts,replicas}.test.ts'] : []),
            // If there are no shards, these tests use the replica's database as a shard.
            ...(process.env.REPLICA_LAG && !process.env.SHARDS ? ['test/**/shards.test.ts'] : []),
          ],
          setupFiles: ['test/support/migrate.ts', 'test/support/seed.ts'],
          // The model provider and the receiver have to run outside of workerd to be reachable over HTTP.
          globalSetup: [
            'test/scripts/in-memory.ts',
            'test/scripts/model-server.ts',
            'test/scripts/webhook-receiver.ts',
          ],
          // Starting a Worker for each file would take longer than running most files.
          isolate: false,
          // Use three workers even on two cores, because tests spend a fifth of the time waiting for storage and
          // processes. The default is one fewer than the number of cores.
          maxWorkers: 3,
          // The first test that calls a model loads the library for it. That takes 2.4 s on an idle machine, and can
          // exceed the default timeout of 5 s on a busy one.
          testTimeout: 30_000,
          hookTimeout: 30_000,
        },
      },
      {
        // Runs in workerd with wrangler.toml's compatibility date, but without bindings. A test that needs a binding
        // fails, and belongs in the worker project.
        plugins: [cloudflareTest({ miniflare: { compatibilityDate: '2026-10-01' } })],
        test: {
          name: 'functions',
          include: FUNCTIONS,
          setupFiles: ['test/support/seed.ts'],
          // Loading the modules for each file would take longer than running the tests.
          isolate: false,
          maxWorkers: 3,
          testTimeout: 30_000,
        },
      },
      {
        test: {
          name: 'scripts',
          include: ['test/scripts/**/*.test.ts'],
          // This test downloads a gigabyte. `npm run test:clients` runs it.
          exclude: [
            '**/node_modules/**',
            ...(process.env.PYTHON_CLIENTS ? [] : ['test/scripts/python-clients.test.ts']),
          ],
          globalSetup: ['test/scripts/build.ts'],
          // Starting the service takes as much waiting as computing.
          maxWorkers: 3,
          testTimeout: 240_000,
          hookTimeout: 240_000,
          // Use the regular temporary directory. Tests that need an in-memory one request it.
          env: { TMPDIR: tmpdir() },
        },
      },
    ],
  },
})
