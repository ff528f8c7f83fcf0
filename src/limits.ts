/*
 * Every limit on size, count, and time is in src/limits/, by area, with its reason. `BYTES` are UTF-8 bytes, `LENGTH` is
 * characters.
 */

export * from './limits/access.ts'
export * from './limits/attribution.ts'
export * from './limits/datasets.ts'
export * from './limits/http.ts'
export * from './limits/ingest.ts'
export * from './limits/jobs.ts'
export * from './limits/manage.ts'
export * from './limits/mcp.ts'
export * from './limits/problems.ts'
export * from './limits/read.ts'
export * from './limits/review.ts'
export * from './limits/store.ts'
export * from './limits/suggestion.ts'
export * from './limits/units.ts'
export * from './limits/webhooks.ts'
