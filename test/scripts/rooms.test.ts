import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { describe, it } from 'vitest'

/*
 * The rooms of `src`, and the direction in which they may import each other. Biome's `noImportCycles` prevents cycles
 * between files.
 */

const SOURCE = join(import.meta.dirname, '../../src')

/**
 * Each room may import only the rooms before it. `attribution` and `otlp` include only the files that are directly in
 * those folders.
 */
const ROOMS = [
  'limits',
  'domain',
  'http',
  'store/schema',
  'store/core',
  'rate-limit',
  'env',
  'store/accounts',
  'store/webhooks',
  'store/model-jobs',
  'store/counts',
  'store/traces',
  'store/spans',
  'store/attribution',
  'store/datasets',
  'store/reviews',
  'store/search',
  'store/insights',
  'store/texts',
  'store/experiments',
  'store/experiments',
  'store/problems',
  'auth',
  'api',
  'model',
  'attribution/text',
  'attribution/evidence',
  'attribution/rules',
  'attribution/model',
  'ingest',
  'otlp/proto',
  'otlp/reading',
  'otlp/conventions',
  'otlp',
  'read',
  'review',
  'datasets',
  'experiments',
  'experiments',
  'problems',
  'webhooks',
  'manage',
  'mcp',
  'jobs',
  'client',
  'ui',
  'components',
  'native-protocols',
  'app-page',
  'health',
  'early',
  'respond',
  'app',
  'index',
]

/** Files in `attribution` that its rooms share or that run them. They count as part of another room. */
const LOBBIES: Readonly<Record<string, string>> = {
  'attribution/effort': 'domain',
  'attribution/taxonomy': 'domain',
  'attribution/weights': 'domain',
  'attribution/finding': 'domain',
  'attribution/engine': 'domain',
  'attribution/versions': 'domain',
  'attribution/configured-engine': 'attribution/model',
  'attribution/run': 'attribution/model',
}

const sources = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' }).filter(
  path => /\.tsx?$/.test(path) && !path.endsWith('.d.ts'),
)

/** The room of a source file, given its path without the extension. */
function roomOf(path: string): string | undefined {
  if (path in LOBBIES) return LOBBIES[path]
  const [top = '', second = ''] = path.split('/')
  return [`${top}/${second}`, top].find(room => ROOMS.includes(room))
}

interface Import {
  from: string
  to: string
  isOfTypes: boolean
}

const imports: Import[] = sources.flatMap(source => {
  const text = readFileSync(join(SOURCE, source), 'utf8')
  const found = text.matchAll(/^(?:import|export) (type )?(?:[^'"]*? from )?'(\.[^']+)'|\bimport\('(\.[^']+)'\)/gm)
  return [...found].map(([, type, named, loaded]) => {
    const path = relative(SOURCE, join(SOURCE, dirname(source), named ?? loaded ?? ''))
    return { from: source.replace(/\.tsx?$/, ''), to: path.replace(/(\.tsx?|\?.*)$/, ''), isOfTypes: type === 'type ' }
  })
})

describe('the rooms of src', () => {
  it('cover every file', ({ expect }) => {
    const homeless = sources.map(path => path.replace(/\.tsx?$/, '')).filter(path => roomOf(path) === undefined)
    expect(homeless).toEqual([])
    expect(imports.length).toBeGreaterThan(sources.length)
  })

  it('import only in one direction', ({ expect }) => {
    const backward = imports.filter(({ from, to }) => {
      const [importer, imported] = [roomOf(from), roomOf(to)]
      if (importer === undefined || imported === undefined) return false
      return ROOMS.indexOf(imported) > ROOMS.indexOf(importer)
    })
    expect(backward).toEqual([])
  })

  it('import only types into code that runs outside of the Worker', ({ expect }) => {
    const shared = new Set(['limits', 'domain'])
    const values = imports.filter(({ from, to, isOfTypes }) => {
      const [importer, imported] = [roomOf(from), roomOf(to)]
      const isOutside = importer === 'client' || importer === 'ui'
      return isOutside && !isOfTypes && imported !== undefined && imported !== importer && !shared.has(imported)
    })
    expect(values).toEqual([])
  })
})
