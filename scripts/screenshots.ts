/**
 * `npm run screenshots`: takes the pictures in docs/screenshots, which show each page of the app with the demo's data,
 * in light and dark mode.
 *
 * --quick takes only a few of them, in a temporary folder, to check that this script works
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { type Browser, chromium, type Page } from '@playwright/test'
import * as v from 'valibot'
import { newServer, PROJECT, runCron } from '../test/scripts/server.ts'
import { CHROMIUM_ARGUMENTS, findChromium } from './find-chromium.ts'

const { values: flags } = parseArgs({ options: { quick: { type: 'boolean', default: false } } })
const FOLDER = flags.quick
  ? await mkdtemp(join(tmpdir(), 'countersign-screenshots-'))
  : resolve(import.meta.dirname, '../docs/screenshots')
const MAX_BYTES = 250 * 1024
const COUNT_TIMEOUT_MS = 10 * 60_000
const SCHEMES = ['light', 'dark'] as const
const REVIEW = '/review?order=negative'
const DESKTOP = { width: 1440, height: 900 }
const PHONE = { width: 390, height: 844 }

interface Picture {
  name: string
  /** The page's path. May read from the API to find it. */
  path: (get: Get) => Promise<string> | string
  /** What to do on the page before taking the picture. */
  prepare?: (page: Page) => Promise<void>
  size?: typeof DESKTOP
}

/** Reads from the API as the signed-in user. */
type Get = (path: string) => Promise<unknown>

const Traces = v.object({ traces: v.tupleWithRest([v.object({ id: v.string() })], v.unknown()) })
const Spans = v.object({
  spans: v.array(v.object({ id: v.string(), review: v.object({ state: v.string() }) })),
})
const Prompts = v.object({ prompts: v.array(v.object({ id: v.string(), stepId: v.string() })) })
const Prompt = v.object({ versions: v.array(v.object({ id: v.string(), isActive: v.boolean() })) })
const KnowledgeDocs = v.object({ knowledgeDocs: v.tupleWithRest([v.object({ id: v.string() })], v.unknown()) })

const Datasets = v.object({ datasets: v.array(v.object({ id: v.string(), stepId: v.string() })) })
const Experiments = v.object({ experiments: v.array(v.object({ id: v.string(), stepId: v.string() })) })

const Problems = v.object({ problems: v.array(v.object({ id: v.string() })) })

const Insights = v.object({ outputs: v.object({ countedAt: v.nullable(v.string()), total: v.number() }) })

const PICTURES: readonly Picture[] = [
  { name: 'insights', path: () => '/' },
  { name: 'problems', path: () => '/problems' },
  { name: 'problem', path: unprovenProblem },
  { name: 'problem-phone', path: unprovenProblem, size: PHONE },
  { name: 'review', path: () => REVIEW },
  { name: 'review-editing', path: () => `${REVIEW}&stepId=generate-answer`, prepare: edit },
  { name: 'review-phone', path: () => REVIEW, size: PHONE },
  { name: 'traces', path: () => '/traces?rating=negative' },
  { name: 'trace', path: correctedTrace, prepare: openAttribution },
  { name: 'attribution', path: () => '/attribution' },
  { name: 'datasets', path: () => '/datasets' },
  { name: 'dataset', path: testItems },
  { name: 'experiments', path: () => '/experiments' },
  { name: 'experiment', path: unjudgedExperiment },
  { name: 'prompts', path: () => '/prompts' },
  { name: 'prompt', path: comparedPrompt },
  { name: 'prompt-gate', path: refusedVersion },
  { name: 'knowledge-docs', path: () => '/knowledge-docs' },
  { name: 'knowledge-doc', path: firstKnowledgeDoc },
  ...['projects', 'keys', 'users', 'error-types', 'step-names', 'audit-log'].map(tab => ({
    name: `settings-${tab}`,
    path: () => `/settings/${tab}`,
  })),
]

/** Pictures that together cover signing in, preparing a page, and looking up a path. */
const QUICK = ['review-editing', 'trace']

async function edit(page: Page): Promise<void> {
  await page.keyboard.press('e')
  const field = page.getByRole('region', { name: 'Edit', exact: true }).getByRole('textbox').first()
  await field.fill(`${await field.inputValue()} Ask us if anything is unclear.`)
  await page.getByRole('region', { name: 'Changes', exact: true }).getByText('Ask us').first().waitFor()
}

async function openAttribution(page: Page): Promise<void> {
  await page.getByRole('region', { name: 'Attribution' }).getByRole('button', { expanded: false }).click()
}

/** A trace whose root cause a reviewer named, with its last corrected output selected. */
async function correctedTrace(get: Get): Promise<string> {
  const list = await get('/api/traces?projectSlug=support&errorType=outdated_reference')
  const {
    traces: [{ id }],
  } = v.parse(Traces, list)
  const { spans } = v.parse(Spans, await get(`/api/traces/${id}?payloads=preview`))
  return `/traces/${id}?span=${spans.findLast(({ review }) => review.state === 'corrected')?.id}`
}

/** A prompt's active version, compared with the previous one. */
async function comparedPrompt(get: Get): Promise<string> {
  const { prompts } = v.parse(Prompts, await get('/api/prompts?projectSlug=support'))
  const prompt = prompts.find(({ stepId }) => stepId === 'generate-answer') ?? prompts[0]
  const { versions } = v.parse(Prompt, await get(`/api/prompts/${prompt?.id}`))
  const active = versions.findIndex(({ isActive }) => isActive)
  return `/prompts/${prompt?.id}?version=${versions[active]?.id}&compare=${versions[active - 1]?.id}`
}

/** A prompt's newest version, which doesn't meet its step's gate. */
async function refusedVersion(get: Get): Promise<string> {
  const { prompts } = v.parse(Prompts, await get('/api/prompts?projectSlug=support'))
  const prompt = prompts.find(({ stepId }) => stepId === 'classify') ?? prompts[0]
  const { versions } = v.parse(Prompt, await get(`/api/prompts/${prompt?.id}`))
  return `/prompts/${prompt?.id}?version=${versions.at(-1)?.id}`
}

/** The dataset items in the test split that a reviewer corrected. */
async function testItems(get: Get): Promise<string> {
  const { datasets } = v.parse(Datasets, await get('/api/datasets?projectSlug=support'))
  return `/datasets/${datasets.find(({ stepId }) => stepId === 'classify')?.id}?split=test&decision=correct`
}

/** An experiment with outputs that a person has to decide on. */
async function unjudgedExperiment(get: Get): Promise<string> {
  const { experiments } = v.parse(Experiments, await get('/api/experiments?projectSlug=support'))
  return `/experiments/${experiments.find(({ stepId }) => stepId === 'generate-answer')?.id}`
}

/** A problem with a version that isn't yet proven to fix it. */
async function unprovenProblem(get: Get): Promise<string> {
  const { problems } = v.parse(Problems, await get('/api/problems?projectSlug=support&state=fixing'))
  return `/problems/${problems[0]?.id}`
}

async function firstKnowledgeDoc(get: Get): Promise<string> {
  const list = v.parse(KnowledgeDocs, await get('/api/knowledge-docs?projectSlug=support'))
  return `/knowledge-docs/${list.knowledgeDocs[0].id}`
}

/** Takes all the pictures, in a browser that signs in with a link. */
async function takePictures(browser: Browser, url: string, link: string): Promise<void> {
  const context = await browser.newContext({
    baseURL: url,
    viewport: DESKTOP,
    reducedMotion: 'reduce',
    locale: 'en-GB',
  })
  const page = await context.newPage()
  await page.goto('/')
  await capture(page, 'sign-in')
  await page.goto(link)
  await page.getByRole('navigation', { name: 'Sections' }).waitFor()
  const get: Get = async path => (await context.request.get(path)).json()
  if (!flags.quick) await countOutputs(url, get)
  const pictures = flags.quick ? PICTURES.filter(({ name }) => QUICK.includes(name)) : PICTURES
  for (const { name, path, prepare, size = DESKTOP } of pictures) {
    await page.setViewportSize(size)
    const address = await path(get)
    await page.goto(`${address}${address.includes('?') ? '&' : '?'}project=support`)
    await page.waitForLoadState('networkidle')
    await prepare?.(page)
    await capture(page, name)
  }
  await context.close()
}

/**
 * Runs cron again and again, instead of once a minute, until the numbers on the Insights page include all new traces.
 */
async function countOutputs(url: string, get: Get): Promise<void> {
  let before = 0
  for (const end = Date.now() + COUNT_TIMEOUT_MS; Date.now() < end; await setTimeout(5_000)) {
    await runCron(url)
    const { outputs } = v.parse(Insights, await get('/api/insights?projectSlug=support'))
    // Each run counts only some of the days.
    if (outputs.countedAt !== null && outputs.total === before) return
    before = outputs.total
  }
  throw new Error('The outputs were not counted')
}

/** Takes pictures of the current page, one per color scheme. */
async function capture(page: Page, name: string): Promise<void> {
  for (const colorScheme of SCHEMES) {
    await page.emulateMedia({ colorScheme })
    await page.waitForLoadState('networkidle')
    const picture = await page.screenshot({ scale: 'css', animations: 'disabled' })
    const file = `${name}-${colorScheme}.png`
    if (picture.length > MAX_BYTES)
      throw new Error(`${file} is ${picture.length} bytes, over the limit of ${MAX_BYTES}`)
    await writeFile(join(FOLDER, file), picture)
    console.log(`${file}: ${Math.round(picture.length / 1024)} KiB`)
  }
}

const executablePath = findChromium()
if (!executablePath) throw new Error('Chromium not found. Install it, or set CHROMIUM_PATH.')
const server = await newServer()
try {
  const printed = await server.start({}, PROJECT)
  const link = /\S+\/sign-in#\S+/.exec(printed)?.[0]
  if (!link) throw new Error(`The server did not start:\n${printed}`)
  const browser = await chromium.launch({ executablePath, args: CHROMIUM_ARGUMENTS })
  await takePictures(browser, server.url, link)
  await browser.close()
} finally {
  await server.remove()
  if (flags.quick) await rm(FOLDER, { recursive: true })
}
