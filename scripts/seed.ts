import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import * as v from 'valibot'
import { call } from './call.ts'
import { DEMO_END, type DemoEvent, type DemoProject, demoProjects } from './demo/index.ts'
import { seedExperiments } from './seed-experiments.ts'
import { seedProblems } from './seed-problems.ts'
import { makeReviewerKey, makeReviewers, seedReviews, seedVotes } from './seed-reviews.ts'

/** Where to seed, and with which credentials. */
export interface SeedTarget {
  url: string
  adminToken: string
  /** Where the demo's keys are saved, next to the data that they give access to. */
  stateDirectory: string
}

/** A key to one of the demo's projects. */
export interface DemoKey {
  project: string
  key: string
}

/** The keys to the demo. */
export interface DemoAccess {
  /** One for each project. */
  projectKeys: DemoKey[]
  /** A reviewer's key for all projects, which opens the app. */
  reviewerKey: string
}

const EVENTS_PER_BATCH = 500
const ANALYZED = 'support'

/**
 * Creates the demo organization through the public API, unless an earlier run has created it. The organization's keys
 * are saved in the state directory after everything has been posted. Every call can be repeated, so if seeding is
 * interrupted, the next start simply repeats it.
 */
export async function seedDemo(target: SeedTarget): Promise<DemoAccess> {
  const file = resolve(target.stateDirectory, 'demo-keys.json')
  const kept = existsSync(file) ? v.parse(SavedKeys, JSON.parse(await readFile(file, 'utf8'))) : undefined
  if (kept && !Array.isArray(kept)) return kept
  const owner = await ownerKey(target)
  const access = {
    // If `kept` is set here, it was saved by a release that had no reviewer's key.
    projectKeys: kept ?? (await seedProjects(target, owner)),
    reviewerKey: await makeReviewerKey(target.url, owner),
  }
  await mkdir(target.stateDirectory, { recursive: true })
  await writeFile(`${file}.part`, `${JSON.stringify(access, undefined, 2)}\n`, { mode: 0o600 })
  await rename(`${file}.part`, file)
  return access
}

/** Creates all projects with their contents. */
async function seedProjects(target: SeedTarget, owner: string): Promise<DemoKey[]> {
  const keys: DemoKey[] = []
  const reviewerKeys = await makeReviewers(target.url, owner)
  for (const project of demoProjects()) {
    const { slug } = project
    const { key, id, laterBy } = await seedProject(target.url, owner, project)
    await seedReviews(target.url, { project: { id, key }, reviewerKeys, laterBy }, project)
    if (slug === ANALYZED) {
      await analyzeCorrections(target.url, key, project)
      await seedExperiments({ url: target.url, key, project: { id, slug } })
      await seedProblems({ url: target.url, key, owner, project: { id, slug } })
    }
    await seedVotes(target.url, { project: { id, key }, reviewerKeys }, project)
    keys.push({ project: slug, key })
  }
  return keys
}

const DemoKeys = v.array(v.object({ project: v.string(), key: v.string() }))
const SavedKeys = v.union([v.object({ projectKeys: DemoKeys, reviewerKey: v.string() }), DemoKeys])
const OwnProject = v.object({ projects: v.tuple([v.object({ id: v.string(), createdAt: v.string() })]) })
const WithKey = v.object({ key: v.string() })
const Organization = v.object({ apiKey: WithKey })
const Results = v.object({ results: v.array(v.object({ status: v.number(), body: v.unknown() })) })
const Detail = v.object({ versions: v.array(v.object({ id: v.string() })) })

async function ownerKey({ url, adminToken }: SeedTarget): Promise<string> {
  const created = await call(url, adminToken, 'POST', '/api/orgs', { slug: 'demo', name: 'Demo' })
  if (v.is(Organization, created)) return created.apiKey.key
  return v.parse(WithKey, await call(url, adminToken, 'POST', '/api/orgs/demo/api-keys')).key
}

interface SeededProject {
  id: string
  key: string
  /** The offset of all times from those in the demo's tables, in whole weeks to keep the weekdays. */
  laterBy: number
}

/** Creates a project with its prompts, docs, and traces. The traces end in the week before the project was created. */
async function seedProject(url: string, owner: string, project: DemoProject): Promise<SeededProject> {
  const { slug, name } = project
  await call(url, owner, 'POST', '/api/projects', { slug, name })
  const created = await call(url, owner, 'POST', '/api/api-keys', {
    name: 'Demo',
    projectSlug: slug,
    scopes: ['ingest', 'read', 'review', 'manage'],
  })
  const { key } = v.parse(WithKey, created)
  const [{ id, createdAt }] = v.parse(OwnProject, await call(url, key, 'GET', '/api/projects')).projects
  const laterBy = Math.floor((Date.parse(createdAt) - DEMO_END) / WEEK_MS) * WEEK_MS
  // One project has attributions. Each analysis is a job for the queue.
  if (slug === ANALYZED) await call(url, key, 'PATCH', `/api/projects/${id}`, { autoAttribute: true })
  const versionIds = new Map<string, string[]>()
  const activations: Activation[] = []
  for (const { stepId, since, versions } of project.prompts) {
    const list = `/api/prompts?projectSlug=${slug}&stepId=${stepId}`
    const place = { path: '/api/prompts', list, listName: 'prompts', names: { projectSlug: slug, stepId } } as const
    const dates = since.map(day => later(day, laterBy))
    const text = await seedText(url, key, place, versions.map(dated(dates)))
    versionIds.set(stepId, text.versionIds)
    activations.push(...activationsOf(text, dates))
  }
  for (const { slug: docSlug, title, since, versions } of project.knowledgeDocs) {
    const list = `/api/knowledge-docs?projectSlug=${slug}&slug=${docSlug}`
    const names = { projectSlug: slug, slug: docSlug, title }
    const place = { path: '/api/knowledge-docs', list, listName: 'knowledgeDocs', names } as const
    const dates = since.map(day => later(day, laterBy))
    activations.push(...activationsOf(await seedText(url, key, place, versions.map(dated(dates))), dates))
  }
  const events = project.events((stepId, version) => {
    const id = versionIds.get(stepId)?.[version - 1]
    if (id === undefined) throw new Error(`The demo's prompt ${stepId} has no version ${version}`)
    return id
  })
  const moved = events.map(({ type, body }) => ({ type, body: { ...body, timestamp: later(body.timestamp, laterBy) } }))
  await replay(url, key, moved, activations)
  return { id, key, laterBy }
}

/** The time, shifted by `byMs` milliseconds. Null if there's no time. */
const later = (time: unknown, byMs: number): string | null =>
  typeof time === 'string' ? new Date(Date.parse(time) + byMs).toISOString() : null

/** Adds the day on which each version was written. A draft has no such day, so it gets the time of the seeding. */
const dated = (dates: readonly (string | null)[]) => (version: object, index: number) => ({
  ...version,
  ...(dates[index] && { createdAt: dates[index] }),
})

/** Requests the analysis of each corrected trace, because importing a correction doesn't. */
async function analyzeCorrections(url: string, key: string, { reviews }: DemoProject): Promise<void> {
  const corrected = reviews.filter(({ decisions }) => decisions.at(-1)?.decision === 'correct')
  for (const traceId of new Set(corrected.map(({ traceId }) => traceId))) {
    await call(url, key, 'POST', `/api/v1/traces/${traceId}/attribute`, undefined, { prefer: 'respond-async' })
  }
}

const WEEK_MS = 7 * 24 * 3_600_000

/** The time at which a version becomes the active one. */
interface Activation {
  at: number
  path: string
  versionId: string
}

const activationsOf = ({ path, versionIds }: SeededText, since: readonly (string | null)[]): Activation[] =>
  versionIds.flatMap((versionId, index) => {
    const day = since[index]
    return day ? [{ at: Date.parse(day), path, versionId }] : []
  })

/** Posts events in batches, and activates each version before the first trace that started after the version's day. */
async function replay(url: string, key: string, events: DemoEvent[], activations: Activation[]): Promise<void> {
  const due = activations.toSorted((left, right) => left.at - right.at)
  let batch: DemoEvent[] = []
  const flush = async () => {
    if (batch.length > 0) await postBatch(url, key, batch)
    batch = []
  }
  const activateUntil = async (time: number) => {
    for (let next = due[0]; next && next.at <= time; next = due[0]) {
      await flush()
      await call(url, key, 'PUT', `${next.path}/active-version`, { versionId: next.versionId })
      due.shift()
    }
  }
  for (const event of events) {
    if (event.type === 'trace') await activateUntil(Date.parse(String(event.body.timestamp)))
    batch.push(event)
    if (batch.length === EVENTS_PER_BATCH) await flush()
  }
  await flush()
  await activateUntil(Number.POSITIVE_INFINITY)
}

/** Prompts or docs, and the field that identifies one of them. */
interface TextPlace {
  path: '/api/prompts' | '/api/knowledge-docs'
  /** The query that lists only this prompt or doc. */
  list: string
  listName: 'prompts' | 'knowledgeDocs'
  names: object
}

interface SeededText {
  path: string
  /** The ids of all its versions, oldest first. */
  versionIds: string[]
}

/** Creates a prompt or doc with its versions, skipping versions from an earlier run. The first version is active. */
async function seedText(
  url: string,
  key: string,
  { path, list, listName, names }: TextPlace,
  versions: readonly object[],
): Promise<SeededText> {
  await call(url, key, 'POST', path, { ...names, ...versions[0] })
  const WithList = v.object({ [listName]: v.tuple([v.object({ id: v.string() })]) })
  const [text] = v.parse(WithList, await call(url, key, 'GET', list))[listName] ?? []
  const textPath = `${path}/${text?.id}`
  const made = v.parse(Detail, await call(url, key, 'GET', textPath)).versions
  for (const version of versions.slice(made.length)) {
    await call(url, key, 'POST', `${textPath}/versions`, { ...version, activate: false })
  }
  const { versions: all } = v.parse(Detail, await call(url, key, 'GET', textPath))
  return { path: textPath, versionIds: all.map(({ id }) => id) }
}

/** Posts events. Throws if one is rejected. */
async function postBatch(url: string, key: string, events: DemoEvent[]): Promise<void> {
  const { results } = v.parse(Results, await call(url, key, 'POST', '/api/v1/batch', { events }))
  const refused = results.find(({ status }) => status >= 300)
  if (refused) throw new Error(`An event in the demo was rejected: ${JSON.stringify(refused)}`)
}
