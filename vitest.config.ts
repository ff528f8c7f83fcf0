import { cloudflareTest, readD1Migrations } from '@cloudflare/vitest-plugin'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    projects: [
      {
        plugins: [
          cloudflareTest(async () => ({
            wrangler: { configPath: 'wrangler.toml' },
            miniflare: {
              bindings: { ADMIN_TOKEN: 'admin-token-of-the-tests', MIGRATIONS: await readD1Migrations('migrations') },
            },
          })),
        ],
        test: {
          name: 'worker',
          include: ['test/**/*.test.ts'],
          exclude: ['test/scripts/**'],
          setupFiles: ['test/support/migrate.ts'],
        },
      },
      { test: { name: 'scripts', include: ['test/scripts/**/*.test.ts'], testTimeout: 120_000, hookTimeout: 120_000 } },
    ],
  },
})
