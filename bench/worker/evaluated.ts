/** Reports how many milliseconds Countersign's script takes to evaluate. Each isolate evaluates it once. */
export default {
  async fetch() {
    const start = performance.now()
    await import('../../src/index.ts')
    return Response.json(performance.now() - start)
  },
} satisfies ExportedHandler
