import { CountersignError } from '../../errors.ts'
import { parametersOf } from '../../parameters.ts'
import { isTemporary } from '../../service.ts'
import type { Prompt } from '../../wire.ts'
import type { Connection } from '../connection.ts'
import { Failure, invalid } from '../failure.ts'
import type { GateState, PromptDetail } from '../wire.ts'
import { type Content, isSame, type LocalPrompt } from './folder.ts'

export type Version = PromptDetail['versions'][number]

/** How many times to try to create a version while it's unknown whether the service already has it. */
const MAX_ATTEMPTS = 3

/** The project's prompts with their active versions, by step. */
export async function listPrompts(connection: Connection): Promise<Map<string, Prompt>> {
  const projectSlug = await connection.projectSlug()
  const prompts = new Map<string, Prompt>()
  for await (const prompt of connection.list<Prompt>('/api/prompts', 'prompts', { projectSlug, limit: 200 })) {
    prompts.set(prompt.stepId, prompt)
  }
  return prompts
}

/** A step's prompt with all its versions. Undefined if the step has no prompt. */
export async function findPrompt(connection: Connection, stepId: string): Promise<PromptDetail | undefined> {
  const query = parametersOf({ projectSlug: await connection.projectSlug(), stepId })
  const { prompts } = await connection.call<{ prompts: Prompt[] }>(`/api/prompts?${query}`, 'prompts')
  return prompts[0] && readPrompt(connection, prompts[0].id)
}

/** A step's prompt with all its versions. Throws a `Failure` if the step has no prompt. */
export async function requirePrompt(connection: Connection, stepId: string): Promise<PromptDetail> {
  const prompt = await findPrompt(connection, stepId)
  if (!prompt) throw new Failure('missing', 'prompt_not_found', `The step ${stepId} has no prompt`)
  return prompt
}

/** A prompt with all its versions. */
export const readPrompt = (connection: Connection, id: string): Promise<PromptDetail> =>
  connection.call<PromptDetail>(`/api/prompts/${id}`, 'versions')

/** The active version. A prompt always has one. */
export function activeVersion({ stepId, versions }: PromptDetail): Version {
  const active = versions.find(({ isActive }) => isActive)
  if (!active) throw new Error(`the prompt for ${stepId} has no active version`)
  return active
}

/** The newest version with this text. */
export const versionWith = ({ versions }: PromptDetail, content: Content): Version | undefined =>
  versions.findLast(version => isSame(version, content))

/**
 * Creates a version, or the prompt itself, unless it already exists. A lost response doesn't lead to a second version:
 * before repeating the request, this function asks the service what it has.
 */
export async function createVersion(
  connection: Connection,
  stepId: string,
  { content, outputSchema }: Content,
  note: string | undefined,
  override: string | undefined,
): Promise<{ prompt: PromptDetail; version: Version; isNew: boolean }> {
  const body = { content, outputSchema, ...(note !== undefined && { note }) }
  for (let attempt = 1, isNew = false; ; attempt++) {
    const prompt = await findPrompt(connection, stepId)
    const version = prompt && versionWith(prompt, { content, outputSchema })
    if (version) return { prompt, version, isNew }
    if (attempt > MAX_ATTEMPTS) throw new Error(`the service stored a different text for ${stepId}`)
    isNew = true
    try {
      if (prompt) await post(`/api/prompts/${prompt.id}/versions`, 'number', body)
      else {
        const projectSlug = await connection.projectSlug()
        const first = { projectSlug, stepId, ...body, ...(override !== undefined && { override }) }
        await post('/api/prompts', 'versionId', first)
      }
    } catch (error) {
      if (!(error instanceof CountersignError) || !isTemporary(error) || attempt === MAX_ATTEMPTS) throw error
    }
  }

  async function post(path: string, field: string, value: object): Promise<void> {
    await connection.callOnce<Record<string, unknown>>(path, field, { method: 'POST', body: JSON.stringify(value) })
  }
}

/** Activates a version. Throws a `CountersignError`, with the code `gate_not_met` if the gate refuses it. */
export async function activate(
  connection: Connection,
  { id }: PromptDetail,
  versionId: string,
  override: string | undefined,
): Promise<void> {
  const body = JSON.stringify({ versionId, ...(override !== undefined && { override }) })
  await connection.call<Prompt>(`/api/prompts/${id}/active-version`, 'versionId', { method: 'PUT', body })
}

/** Whether a version meets its step's gate. Undefined if the step has no gate. */
export async function readGate(
  connection: Connection,
  stepId: string,
  versionId: string,
): Promise<GateState | undefined> {
  const { id } = await connection.project()
  const path = `/api/projects/${id}/gates/${encodeURIComponent(stepId)}?${parametersOf({ versionId })}`
  try {
    return await connection.call<GateState>(path, 'met')
  } catch (error) {
    if (error instanceof CountersignError && error.status === 404) return undefined
    throw error
  }
}

/** The ways to specify a version, for the help text. */
export const VERSION_FORMS = 'its ID, its number, or one of: local (what the file has), active, latest'

/** The version that the user specified. Default: the file's version or, if there's no file, the active version. */
export function chosenVersion(
  prompt: PromptDetail,
  named: string | undefined,
  local: LocalPrompt | undefined,
): Version {
  const { stepId, versions } = prompt
  const name = named ?? (local ? 'local' : 'active')
  if (name === 'active') return activeVersion(prompt)
  if (name === 'local') {
    if (!local) throw new Failure('missing', 'file_not_found', `There is no file for the step ${stepId}`)
    const version = versionWith(prompt, local)
    if (!version)
      throw invalid(`${local.file} differs from every version of ${stepId}`, 'Run "countersign prompts push" first.')
    return version
  }
  const number = /^v?(\d+)$/.exec(name)?.[1]
  const version =
    name === 'latest'
      ? versions.at(-1)
      : versions.find(version => (number === undefined ? version.id === name : version.number === Number(number)))
  if (!version) throw new Failure('missing', 'version_not_found', `The prompt for ${stepId} has no version ${name}`)
  return version
}
