/** Tells how many milliseconds the evaluation of Countersign's script takes; each isolate evaluates it once. */
export default {
  async fetch() {
    const start = performance.now()
    await import('../../src/index.ts')
    return Response.json(performance.now() - start)
  },
} satisfies ExportedHandler
