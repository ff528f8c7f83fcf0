import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Locator, Page, Request } from '@playwright/test'
import * as v from 'valibot'
import { layoutShift } from './layout.ts'
import { roundsOf } from './requests.ts'
import { type SampleProject, sampleProject } from './sample-project.ts'
import { expect, signIn, test } from './test.ts'

const KIB = 1024
const MAX_ROUND_TRIPS = 4
const ROUND_OF_DOCUMENT = 1

interface FirstLoad {
  name: string
  path: (sample: SampleProject) => string
  /** An element that's enabled once the page is usable. */
  usable: (page: Page) => Locator
  maxKib: number
  maxScriptKib: number
}

const FIRST_LOADS: readonly FirstLoad[] = [
  {
    name: 'review',
    path: () => '/review',
    usable: page => page.getByRole('button', { name: 'Accept' }),
    maxKib: 180,
    maxScriptKib: 165,
  },
  {
    name: 'insights',
    path: () => '/',
    usable: page => page.getByRole('link', { name: /decisions$/ }),
    maxKib: 170,
    maxScriptKib: 150,
  },
  {
    name: 'traces',
    path: () => '/traces',
    usable: page => page.getByRole('table', { name: 'Traces' }).getByRole('link').first(),
    maxKib: 200,
    maxScriptKib: 190,
  },
  {
    name: 'trace',
    path: ({ traceId }) => `/traces/${traceId}`,
    usable: page => page.getByRole('treeitem').first(),
    maxKib: 205,
    maxScriptKib: 190,
  },
]

let sample: SampleProject

test.beforeAll(async () => {
  sample = await sampleProject()
})

test.describe('each page is usable after at most four round trips and few bytes', () => {
  for (const { name, path, usable, maxKib, maxScriptKib } of FIRST_LOADS) {
    test(name, async ({ page, context }) => {
      await signIn(context, sample.ownerKey)
      const rounds = await roundsOf(page, `${path(sample)}?project=${sample.project.slug}`, {
        isHeld: () => true,
        isDone: () => isUsable(usable(page)),
      })
      await expect(usable(page)).toBeEnabled()
      const urls = rounds.map(round => round.map(request => new URL(request.url()).pathname))
      expect(rounds.length + ROUND_OF_DOCUMENT, JSON.stringify(urls, undefined, 2)).toBeLessThanOrEqual(MAX_ROUND_TRIPS)

      const document = await page.request.get(page.url(), { headers: { 'sec-fetch-mode': 'navigate' } })
      const files = [{ path: 'document', bytes: gzipSync(await document.body()).length }, ...(await filesIn(rounds))]
      const scripts = files.filter(({ path }) => path.endsWith('.js'))
      expect(totalOf(scripts)).toBeGreaterThan(50 * KIB)
      const message = await growth(name, files)
      expect(totalOf(files), message).toBeLessThanOrEqual(maxKib * KIB)
      expect(totalOf(scripts), message).toBeLessThanOrEqual(maxScriptKib * KIB)
    })
  }
})

/** The bytes of the app's files, compressed with gzip. The local server may compress them differently. */
async function filesIn(rounds: readonly Request[][]) {
  const requests = rounds.flat().filter(request => !new URL(request.url()).pathname.startsWith('/api/'))
  return Promise.all(
    requests.map(async request => {
      const body = await (await request.response())?.body()
      if (!body) throw new Error(`no response to ${request.url()}`)
      return { path: new URL(request.url()).pathname, bytes: gzipSync(body).length }
    }),
  )
}

type Sizes = readonly { path: string; bytes: number }[]

const totalOf = (files: Sizes): number => files.reduce((sum, { bytes }) => sum + bytes, 0)

const isUsable = async (element: Locator): Promise<boolean> => (await element.count()) > 0 && element.isEnabled()

const Recorded = v.record(v.string(), v.record(v.string(), v.number()))
const RECORDED = join(import.meta.dirname, 'recorded-sizes.json')

/**
 * Lists a page's files, starting with those that grew the most since their sizes were recorded.
 * `npm run test:ui -- first-load -u` records the sizes. No test depends on them.
 */
async function growth(page: string, files: Sizes): Promise<string> {
  const recorded = v.parse(Recorded, JSON.parse(await readFile(RECORDED, 'utf8')))
  const sizes = Object.fromEntries(files.map(({ path, bytes }) => [nameOf(path), bytes]))
  if (['all', 'changed'].includes(test.info().config.updateSnapshots)) {
    await writeFile(RECORDED, `${JSON.stringify({ ...recorded, [page]: sizes }, undefined, 2)}\n`)
  }
  const lines = Object.entries(sizes).map(([name, bytes]) => ({
    name,
    bytes,
    more: bytes - (recorded[page]?.[name] ?? 0),
  }))
  return lines
    .toSorted((a, b) => b.more - a.more)
    .map(({ name, bytes, more }) => `${name}: ${bytes} bytes (${more < 0 ? '' : '+'}${more})`)
    .join('\n')
}

/** A file's name without its hash. */
const nameOf = (path: string): string => path.replace('/assets/', '').replace(/-[\w-]{8}(?=\.\w+$)/, '')

test('the frame appears once the document has loaded, and never moves as the rest of the page loads', async ({
  page,
  context,
}) => {
  await signIn(context, sample.ownerKey)
  for (const viewport of [
    { width: 1440, height: 900 },
    { width: 390, height: 844 },
  ]) {
    await page.setViewportSize(viewport)
    let first: string[] | undefined
    await roundsOf(page, `/review?project=${sample.project.slug}`, {
      isHeld: () => true,
      isDone: async () => {
        if (first !== undefined) return false
        await expect
          .poll(() => page.evaluate(() => performance.getEntriesByName('first-contentful-paint').length))
          .toBe(1)
        first = await placesInFrame(page)
        return false
      },
    })
    await expect(page.getByRole('button', { name: 'Accept' })).toBeEnabled()
    // Sections that only some users can see are added below the others.
    expect(await placesInFrame(page)).toEqual(expect.arrayContaining(first ?? ['none']))
    expect(await layoutShift(page)).toBeLessThan(0.05)
  }
})

/** The positions of the frame's links and labels. */
const placesInFrame = (page: Page) =>
  page.evaluate(() =>
    [
      ...document.querySelectorAll(
        '.frame-brand, .frame-project, .frame-command, .frame-section, .frame-account, main',
      ),
    ].map(element => {
      const { x, y, width } = element.getBoundingClientRect()
      return `${element.className} ${x} ${y} ${width}`
    }),
  )
