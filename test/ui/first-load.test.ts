import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import * as v from 'valibot'
import { PROJECT } from '../scripts/server.ts'
import { expect, test } from './test.ts'

const MAX_BYTES = 250 * 1024
const BUILD_DIRECTORY = join(PROJECT, 'dist/ui')

const Manifest = v.record(v.string(), v.object({ file: v.string(), imports: v.optional(v.array(v.string()), []) }))

/**
 * The scripts that source files need to run, including static imports but not modules that they `import()` on demand.
 */
async function scriptsOf(sources: readonly string[]): Promise<Set<string>> {
  const manifest = v.parse(Manifest, JSON.parse(await readFile(join(BUILD_DIRECTORY, '.vite/manifest.json'), 'utf8')))
  const scripts = new Set<string>()
  const add = (source: string): void => {
    const built = manifest[source]
    if (!built) throw new Error(`no build output for ${source}`)
    if (scripts.has(built.file)) return
    scripts.add(built.file)
    built.imports.forEach(add)
  }
  sources.forEach(add)
  return scripts
}

test.describe('a first load takes under 250 KiB of gzipped scripts, not counting editors and charts', () => {
  for (const page of ['insights', 'review', 'traces', 'trace']) {
    test(page, async () => {
      const scripts = await scriptsOf(['index.html', `${page}/page.tsx`])
      const sizes = [...scripts].map(async file => gzipSync(await readFile(join(BUILD_DIRECTORY, file))).length)
      const bytes = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
      expect(bytes).toBeGreaterThan(50 * 1024)
      expect(bytes).toBeLessThan(MAX_BYTES)
    })
  }
})
